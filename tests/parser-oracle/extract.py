"""Statements of a mysqltest file: what mysqltest would send, without what it computes (eval, loops, variables)."""

import re

COMMANDS = {
    "append_file", "assert", "cat_file", "change_user", "character_set", "chmod", "connect", "connection", "copy_file",
    "copy_files_wildcard", "dec", "delimiter", "die", "diff_files", "dirty_close", "disable_abort_on_error",
    "disable_connect_log", "disable_info", "disable_metadata", "disable_parsing", "disable_prepare_warnings",
    "disable_ps_protocol", "disable_ps2_protocol", "disable_query_log", "disable_reconnect", "disable_result_log",
    "disable_rpl_parse", "disable_session_track_info", "disable_warnings", "disable_service_connection",
    "disable_cursor_protocol", "disable_view_protocol", "disable_column_names", "disable_non_blocking_api",
    "disconnect", "echo", "else", "enable_abort_on_error", "enable_connect_log", "enable_info", "enable_metadata",
    "enable_parsing", "enable_prepare_warnings", "enable_ps_protocol", "enable_ps2_protocol", "enable_query_log",
    "enable_reconnect", "enable_result_log", "enable_rpl_parse", "enable_session_track_info", "enable_warnings",
    "enable_service_connection", "enable_cursor_protocol", "enable_view_protocol", "enable_column_names",
    "enable_non_blocking_api", "end", "error", "eval", "evalp", "exec", "exec_in_background", "execw", "exit",
    "file_exists", "horizontal_results", "if", "inc", "let", "list_files", "list_files_append_file",
    "list_files_write_file", "lowercase_result", "mkdir", "move_file", "optimizer_trace", "output", "perl", "ping",
    "printf", "query", "query_get_value", "query_horizontal", "query_vertical", "real_sleep", "reap", "remove_file",
    "remove_files_wildcard", "replace_column", "replace_regex", "replace_result", "require", "reset_connection",
    "result_format", "rmdir", "save_master_pos", "send", "send_eval", "send_quit", "send_shutdown", "shutdown_server",
    "skip", "sleep", "sorted_result", "source", "start_timer", "sync_slave_with_master", "sync_with_master", "system",
    "vertical_results", "while", "write_file", "write_line", "ps_protocol", "sync_slave",
}
HEREDOC = {"write_file", "append_file", "perl"}


def statements(data):
    """Yields (delimiter, statement) from the bytes of a test file."""
    lines = data.split(b"\n")
    delimiter, buffer, i = b";", b"", 0
    while i < len(lines):
        line = lines[i]
        i += 1
        stripped = line.strip()
        if not buffer.strip():
            buffer = b""
            if not stripped or stripped[:1] in (b"#", b"}", b"{"):
                continue
            if stripped.startswith(b"--") and not stripped.startswith(b"-- "):
                command = stripped[2:].strip()
                if command[:9].lower() != b"delimiter":
                    i = _skip_heredoc(lines, i, command)
                    continue
                line = command
            if stripped.startswith(b"-- ") or stripped.startswith(b"--\t"):
                continue
        word = re.match(rb"\s*([A-Za-z_]+)", buffer or line)
        word = word.group(1).lower().decode() if word else ""
        if not buffer.strip() and word == "delimiter":
            match = re.match(rb"\s*delimiter\s+(\S+)", line, re.I)
            text = match.group(1) if match else b";"
            if text.endswith(delimiter) and text != delimiter:
                text = text[: -len(delimiter)]
            delimiter = text
            continue
        if not buffer.strip() and word in HEREDOC:
            i = _skip_heredoc(lines, i, stripped)
            continue
        buffer += line + b"\n"
        if word in ("if", "while") and stripped.endswith((b"{", b")")):
            buffer = b""
            continue
        while True:
            end = _find(buffer, delimiter)
            if end is None:
                break
            text, buffer = buffer[:end].strip(), buffer[end + len(delimiter) :]
            first = re.match(rb"\s*([A-Za-z_]+)", text)
            first = first.group(1).lower().decode() if first else ""
            if first in ("query_vertical", "query_horizontal", "send") or (first == "query" and b" " in text):
                text = text[len(first) :].strip()
                first = ""
            if text and first not in COMMANDS and b"$" not in text and not text.startswith(b"}"):
                yield delimiter, text


def _skip_heredoc(lines, i, command):
    word = command.split(b" ")[0].split(b";")[0].lower().decode("latin1")
    if word not in HEREDOC:
        return i
    match = re.search(rb"(\b[A-Z]+)\s*;?\s*$", command)
    end = match.group(1) if match and match.group(1) != b"EOF" else b"EOF"
    while i < len(lines) and lines[i].strip() != end:
        i += 1
    return i + 1


def _find(text, delimiter):
    """Where the delimiter stands outside quotes and comments."""
    i, quote = 0, None
    while i < len(text):
        c = text[i : i + 1]
        if quote:
            if c == b"\\" and quote != b"`":
                i += 1
            elif c == quote:
                quote = None
        elif text.startswith(delimiter, i):
            return i
        elif c in (b"'", b'"', b"`"):
            quote = c
        elif c == b"#" or text.startswith(b"-- ", i):
            end = text.find(b"\n", i)
            i = len(text) if end < 0 else end
        elif text.startswith(b"/*", i):
            end = text.find(b"*/", i)
            if text[i + 2 : i + 3] != b"!" and end >= 0:
                i = end + 1
        i += 1
    return None
