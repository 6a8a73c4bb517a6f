//! The character sets and the collations that `gen/charsets.py` found: made by it, not by hand.

use crate::charset::charsets;
use crate::collation::{SpacePad, Weights};
use crate::tables;
use Charset::*;
use SpacePad::{NoPad, Pad};

charsets! {
    Big5 = "big5" 2 1 84 "Big5 Traditional Chinese";
    Dec8 = "dec8" 1 3 69 "DEC West European";
    Cp850 = "cp850" 1 4 80 "DOS West European";
    Hp8 = "hp8" 1 6 72 "HP West European";
    Koi8r = "koi8r" 1 7 74 "KOI8-R Relcom Russian";
    Latin1 = "latin1" 1 8 47 "cp1252 West European";
    Latin2 = "latin2" 1 9 77 "ISO 8859-2 Central European";
    Swe7 = "swe7" 1 10 82 "7bit Swedish";
    Ascii = "ascii" 1 11 65 "US ASCII";
    Ujis = "ujis" 3 12 91 "EUC-JP Japanese";
    Sjis = "sjis" 2 13 88 "Shift-JIS Japanese";
    Hebrew = "hebrew" 1 16 71 "ISO 8859-8 Hebrew";
    Tis620 = "tis620" 1 18 89 "TIS620 Thai";
    Euckr = "euckr" 2 19 85 "EUC-KR Korean";
    Koi8u = "koi8u" 1 22 75 "KOI8-U Ukrainian";
    Gb2312 = "gb2312" 2 24 86 "GB2312 Simplified Chinese";
    Greek = "greek" 1 25 70 "ISO 8859-7 Greek";
    Cp1250 = "cp1250" 1 26 66 "Windows Central European";
    Gbk = "gbk" 2 28 87 "GBK Simplified Chinese";
    Latin5 = "latin5" 1 30 78 "ISO 8859-9 Turkish";
    Armscii8 = "armscii8" 1 32 64 "ARMSCII-8 Armenian";
    Utf8mb3 = "utf8mb3" 3 2048 83 "UTF-8 Unicode";
    Ucs2 = "ucs2" 2 2560 90 "UCS-2 Unicode";
    Cp866 = "cp866" 1 36 68 "DOS Russian";
    Keybcs2 = "keybcs2" 1 37 73 "DOS Kamenicky Czech-Slovak";
    Macce = "macce" 1 38 43 "Mac Central European";
    Macroman = "macroman" 1 39 53 "Mac West European";
    Cp852 = "cp852" 1 40 81 "DOS Central European";
    Latin7 = "latin7" 1 41 79 "ISO 8859-13 Baltic";
    Utf8mb4 = "utf8mb4" 4 2304 46 "UTF-8 Unicode";
    Cp1251 = "cp1251" 1 51 50 "Windows Cyrillic";
    Utf16 = "utf16" 4 2816 55 "UTF-16 Unicode";
    Utf16le = "utf16le" 4 56 62 "UTF-16LE Unicode";
    Cp1256 = "cp1256" 1 57 67 "Windows Arabic";
    Cp1257 = "cp1257" 1 59 58 "Windows Baltic";
    Utf32 = "utf32" 4 3072 61 "UTF-32 Unicode";
    Binary = "binary" 1 63 63 "Binary pseudo charset";
    Geostd8 = "geostd8" 1 92 93 "GEOSTD8 Georgian";
    Cp932 = "cp932" 2 95 96 "SJIS for Windows Japanese";
    Eucjpms = "eucjpms" 3 97 98 "UJIS for Windows Japanese";
}

/// Id, name, character set, pad, weights.
#[rustfmt::skip]
pub(crate) static LISTED: &[(u16, &str, Charset, SpacePad, Weights)] = &[
    (1, "big5_chinese_ci", Big5, Pad, Weights::Chars),
    (3, "dec8_swedish_ci", Dec8, Pad, Weights::Bytes(tables::byte_weights(0))),
    (4, "cp850_general_ci", Cp850, Pad, Weights::Bytes(tables::byte_weights(1))),
    (6, "hp8_english_ci", Hp8, Pad, Weights::Bytes(tables::byte_weights(2))),
    (7, "koi8r_general_ci", Koi8r, Pad, Weights::Bytes(tables::byte_weights(3))),
    (9, "latin2_general_ci", Latin2, Pad, Weights::Bytes(tables::byte_weights(4))),
    (10, "swe7_swedish_ci", Swe7, Pad, Weights::Bytes(tables::byte_weights(5))),
    (12, "ujis_japanese_ci", Ujis, Pad, Weights::Chars),
    (13, "sjis_japanese_ci", Sjis, Pad, Weights::Chars),
    (14, "cp1251_bulgarian_ci", Cp1251, Pad, Weights::Bytes(tables::byte_weights(6))),
    (16, "hebrew_general_ci", Hebrew, Pad, Weights::Bytes(tables::byte_weights(7))),
    (18, "tis620_thai_ci", Tis620, Pad, Weights::Bytes(tables::byte_weights(8))),
    (19, "euckr_korean_ci", Euckr, Pad, Weights::Chars),
    (20, "latin7_estonian_cs", Latin7, Pad, Weights::Bytes(tables::byte_weights(9))),
    (21, "latin2_hungarian_ci", Latin2, Pad, Weights::Bytes(tables::byte_weights(10))),
    (22, "koi8u_general_ci", Koi8u, Pad, Weights::Bytes(tables::byte_weights(11))),
    (23, "cp1251_ukrainian_ci", Cp1251, Pad, Weights::Bytes(tables::byte_weights(12))),
    (24, "gb2312_chinese_ci", Gb2312, Pad, Weights::Chars),
    (25, "greek_general_ci", Greek, Pad, Weights::Bytes(tables::byte_weights(13))),
    (26, "cp1250_general_ci", Cp1250, Pad, Weights::Bytes(tables::byte_weights(14))),
    (27, "latin2_croatian_ci", Latin2, Pad, Weights::Bytes(tables::byte_weights(15))),
    (28, "gbk_chinese_ci", Gbk, Pad, Weights::Chars),
    (29, "cp1257_lithuanian_ci", Cp1257, Pad, Weights::Bytes(tables::byte_weights(16))),
    (30, "latin5_turkish_ci", Latin5, Pad, Weights::Bytes(tables::byte_weights(17))),
    (32, "armscii8_general_ci", Armscii8, Pad, Weights::Bytes(tables::byte_weights(18))),
    (36, "cp866_general_ci", Cp866, Pad, Weights::Bytes(tables::byte_weights(19))),
    (37, "keybcs2_general_ci", Keybcs2, Pad, Weights::Bytes(tables::byte_weights(20))),
    (38, "macce_general_ci", Macce, Pad, Weights::Bytes(tables::byte_weights(21))),
    (39, "macroman_general_ci", Macroman, Pad, Weights::Bytes(tables::byte_weights(22))),
    (40, "cp852_general_ci", Cp852, Pad, Weights::Bytes(tables::byte_weights(23))),
    (41, "latin7_general_ci", Latin7, Pad, Weights::Bytes(tables::byte_weights(24))),
    (42, "latin7_general_cs", Latin7, Pad, Weights::Bytes(tables::byte_weights(25))),
    (43, "macce_bin", Macce, Pad, Weights::Code),
    (44, "cp1250_croatian_ci", Cp1250, Pad, Weights::Bytes(tables::byte_weights(26))),
    (50, "cp1251_bin", Cp1251, Pad, Weights::Code),
    (51, "cp1251_general_ci", Cp1251, Pad, Weights::Bytes(tables::byte_weights(27))),
    (52, "cp1251_general_cs", Cp1251, Pad, Weights::Bytes(tables::byte_weights(28))),
    (53, "macroman_bin", Macroman, Pad, Weights::Code),
    (57, "cp1256_general_ci", Cp1256, Pad, Weights::Bytes(tables::byte_weights(29))),
    (58, "cp1257_bin", Cp1257, Pad, Weights::Code),
    (59, "cp1257_general_ci", Cp1257, Pad, Weights::Bytes(tables::byte_weights(30))),
    (64, "armscii8_bin", Armscii8, Pad, Weights::Code),
    (66, "cp1250_bin", Cp1250, Pad, Weights::Code),
    (67, "cp1256_bin", Cp1256, Pad, Weights::Code),
    (68, "cp866_bin", Cp866, Pad, Weights::Code),
    (69, "dec8_bin", Dec8, Pad, Weights::Code),
    (70, "greek_bin", Greek, Pad, Weights::Code),
    (71, "hebrew_bin", Hebrew, Pad, Weights::Code),
    (72, "hp8_bin", Hp8, Pad, Weights::Code),
    (73, "keybcs2_bin", Keybcs2, Pad, Weights::Code),
    (74, "koi8r_bin", Koi8r, Pad, Weights::Code),
    (75, "koi8u_bin", Koi8u, Pad, Weights::Code),
    (77, "latin2_bin", Latin2, Pad, Weights::Code),
    (78, "latin5_bin", Latin5, Pad, Weights::Code),
    (79, "latin7_bin", Latin7, Pad, Weights::Code),
    (80, "cp850_bin", Cp850, Pad, Weights::Code),
    (81, "cp852_bin", Cp852, Pad, Weights::Code),
    (82, "swe7_bin", Swe7, Pad, Weights::Code),
    (84, "big5_bin", Big5, Pad, Weights::Code),
    (85, "euckr_bin", Euckr, Pad, Weights::Code),
    (86, "gb2312_bin", Gb2312, Pad, Weights::Code),
    (87, "gbk_bin", Gbk, Pad, Weights::Code),
    (88, "sjis_bin", Sjis, Pad, Weights::Code),
    (89, "tis620_bin", Tis620, Pad, Weights::Code),
    (91, "ujis_bin", Ujis, Pad, Weights::Code),
    (92, "geostd8_general_ci", Geostd8, Pad, Weights::Bytes(tables::byte_weights(31))),
    (93, "geostd8_bin", Geostd8, Pad, Weights::Code),
    (95, "cp932_japanese_ci", Cp932, Pad, Weights::Chars),
    (96, "cp932_bin", Cp932, Pad, Weights::Code),
    (97, "eucjpms_japanese_ci", Eucjpms, Pad, Weights::Chars),
    (98, "eucjpms_bin", Eucjpms, Pad, Weights::Code),
    (99, "cp1250_polish_ci", Cp1250, Pad, Weights::Bytes(tables::byte_weights(32))),
    (1025, "big5_chinese_nopad_ci", Big5, NoPad, Weights::Chars),
    (1027, "dec8_swedish_nopad_ci", Dec8, NoPad, Weights::Bytes(tables::byte_weights(0))),
    (1028, "cp850_general_nopad_ci", Cp850, NoPad, Weights::Bytes(tables::byte_weights(1))),
    (1030, "hp8_english_nopad_ci", Hp8, NoPad, Weights::Bytes(tables::byte_weights(2))),
    (1031, "koi8r_general_nopad_ci", Koi8r, NoPad, Weights::Bytes(tables::byte_weights(3))),
    (1033, "latin2_general_nopad_ci", Latin2, NoPad, Weights::Bytes(tables::byte_weights(4))),
    (1034, "swe7_swedish_nopad_ci", Swe7, NoPad, Weights::Bytes(tables::byte_weights(5))),
    (1036, "ujis_japanese_nopad_ci", Ujis, NoPad, Weights::Chars),
    (1037, "sjis_japanese_nopad_ci", Sjis, NoPad, Weights::Chars),
    (1040, "hebrew_general_nopad_ci", Hebrew, NoPad, Weights::Bytes(tables::byte_weights(7))),
    (1042, "tis620_thai_nopad_ci", Tis620, NoPad, Weights::Bytes(tables::byte_weights(8))),
    (1043, "euckr_korean_nopad_ci", Euckr, NoPad, Weights::Chars),
    (1046, "koi8u_general_nopad_ci", Koi8u, NoPad, Weights::Bytes(tables::byte_weights(11))),
    (1048, "gb2312_chinese_nopad_ci", Gb2312, NoPad, Weights::Chars),
    (1049, "greek_general_nopad_ci", Greek, NoPad, Weights::Bytes(tables::byte_weights(13))),
    (1050, "cp1250_general_nopad_ci", Cp1250, NoPad, Weights::Bytes(tables::byte_weights(14))),
    (1052, "gbk_chinese_nopad_ci", Gbk, NoPad, Weights::Chars),
    (1054, "latin5_turkish_nopad_ci", Latin5, NoPad, Weights::Bytes(tables::byte_weights(17))),
    (1056, "armscii8_general_nopad_ci", Armscii8, NoPad, Weights::Bytes(tables::byte_weights(18))),
    (1060, "cp866_general_nopad_ci", Cp866, NoPad, Weights::Bytes(tables::byte_weights(19))),
    (1061, "keybcs2_general_nopad_ci", Keybcs2, NoPad, Weights::Bytes(tables::byte_weights(20))),
    (1062, "macce_general_nopad_ci", Macce, NoPad, Weights::Bytes(tables::byte_weights(21))),
    (1063, "macroman_general_nopad_ci", Macroman, NoPad, Weights::Bytes(tables::byte_weights(22))),
    (1064, "cp852_general_nopad_ci", Cp852, NoPad, Weights::Bytes(tables::byte_weights(23))),
    (1065, "latin7_general_nopad_ci", Latin7, NoPad, Weights::Bytes(tables::byte_weights(24))),
    (1067, "macce_nopad_bin", Macce, NoPad, Weights::Code),
    (1074, "cp1251_nopad_bin", Cp1251, NoPad, Weights::Code),
    (1075, "cp1251_general_nopad_ci", Cp1251, NoPad, Weights::Bytes(tables::byte_weights(27))),
    (1077, "macroman_nopad_bin", Macroman, NoPad, Weights::Code),
    (1081, "cp1256_general_nopad_ci", Cp1256, NoPad, Weights::Bytes(tables::byte_weights(29))),
    (1082, "cp1257_nopad_bin", Cp1257, NoPad, Weights::Code),
    (1083, "cp1257_general_nopad_ci", Cp1257, NoPad, Weights::Bytes(tables::byte_weights(30))),
    (1088, "armscii8_nopad_bin", Armscii8, NoPad, Weights::Code),
    (1090, "cp1250_nopad_bin", Cp1250, NoPad, Weights::Code),
    (1091, "cp1256_nopad_bin", Cp1256, NoPad, Weights::Code),
    (1092, "cp866_nopad_bin", Cp866, NoPad, Weights::Code),
    (1093, "dec8_nopad_bin", Dec8, NoPad, Weights::Code),
    (1094, "greek_nopad_bin", Greek, NoPad, Weights::Code),
    (1095, "hebrew_nopad_bin", Hebrew, NoPad, Weights::Code),
    (1096, "hp8_nopad_bin", Hp8, NoPad, Weights::Code),
    (1097, "keybcs2_nopad_bin", Keybcs2, NoPad, Weights::Code),
    (1098, "koi8r_nopad_bin", Koi8r, NoPad, Weights::Code),
    (1099, "koi8u_nopad_bin", Koi8u, NoPad, Weights::Code),
    (1101, "latin2_nopad_bin", Latin2, NoPad, Weights::Code),
    (1102, "latin5_nopad_bin", Latin5, NoPad, Weights::Code),
    (1103, "latin7_nopad_bin", Latin7, NoPad, Weights::Code),
    (1104, "cp850_nopad_bin", Cp850, NoPad, Weights::Code),
    (1105, "cp852_nopad_bin", Cp852, NoPad, Weights::Code),
    (1106, "swe7_nopad_bin", Swe7, NoPad, Weights::Code),
    (1108, "big5_nopad_bin", Big5, NoPad, Weights::Code),
    (1109, "euckr_nopad_bin", Euckr, NoPad, Weights::Code),
    (1110, "gb2312_nopad_bin", Gb2312, NoPad, Weights::Code),
    (1111, "gbk_nopad_bin", Gbk, NoPad, Weights::Code),
    (1112, "sjis_nopad_bin", Sjis, NoPad, Weights::Code),
    (1113, "tis620_nopad_bin", Tis620, NoPad, Weights::Code),
    (1115, "ujis_nopad_bin", Ujis, NoPad, Weights::Code),
    (1116, "geostd8_general_nopad_ci", Geostd8, NoPad, Weights::Bytes(tables::byte_weights(31))),
    (1117, "geostd8_nopad_bin", Geostd8, NoPad, Weights::Code),
    (1119, "cp932_japanese_nopad_ci", Cp932, NoPad, Weights::Chars),
    (1120, "cp932_nopad_bin", Cp932, NoPad, Weights::Code),
    (1121, "eucjpms_japanese_nopad_ci", Eucjpms, NoPad, Weights::Chars),
    (1122, "eucjpms_nopad_bin", Eucjpms, NoPad, Weights::Code),
];
