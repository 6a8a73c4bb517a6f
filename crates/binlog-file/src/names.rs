//! What the files are called. All of them are in one directory; its disk is given.

/// Directory of the groups that outgrew their memory.
pub(crate) const CACHE_DIRECTORY: &str = "#binlog_cache_files";

/// Names in the directory of the binary log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Without number.
    base: String,
    index: String,
    /// What stands before names in the index: `./`, or the directory.
    shown: String,
}

impl Names {
    /// `base` and `index` are plain names, `shown` ends with `/`.
    pub fn new(base: &str, index: Option<&str>, shown: &str) -> Self {
        let index = index.map_or_else(|| format!("{base}.index"), str::to_owned);
        Self { base: base.to_owned(), index, shown: shown.to_owned() }
    }

    /// Name of the file with this number.
    pub fn file(&self, number: u64) -> String {
        format!("{}.{number:06}", self.base)
    }
    /// The number in a file's name, which may have a path before it.
    pub fn number(&self, name: &str) -> Option<u64> {
        let name = name.rsplit('/').next()?;
        let digits = name.strip_prefix(&self.base)?.strip_prefix('.')?;
        let plain = digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse().ok().filter(|n| plain && *n > 0)
    }
    pub fn index(&self) -> &str {
        &self.index
    }
    /// A line of the index.
    pub(crate) fn line(&self, number: u64) -> String {
        format!("{}{}\n", self.shown, self.file(number))
    }
    /// The replacement of the index that is being written.
    pub(crate) fn new_index(&self) -> String {
        format!("{}_crash_safe", self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_base_and_six_digits_at_least() {
        let names = Names::new("bin-log.x", None, "./");
        assert_eq!((names.file(7).as_str(), names.index()), ("bin-log.x.000007", "bin-log.x.index"));
        assert_eq!(names.line(1_234_567), "./bin-log.x.1234567\n");
        assert_eq!(names.number("./bin-log.x.1234567"), Some(1_234_567));
        for wrong in
            ["bin-log.x.index", "bin-log.x.00001", "other.000001", "bin-log.x.000000", "bin-log.x.00000a"]
        {
            assert_eq!(names.number(wrong), None, "{wrong}");
        }
    }
}
