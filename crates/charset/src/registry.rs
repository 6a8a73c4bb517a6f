//! All collations, by MariaDB's ids.
//!
//! Some are named in the code, some are listed with their tables; those of Unicode's character sets follow a rule: each of the
//! character sets has the same ones, at offsets of its own.
//!
//! # Layout of the ids
//! `<set>_unicode_ci` is the first of the old ones; a language is as many places behind it in the old and, times eight, behind
//! the root in the new ones. The eight variants of the new ones are ai_ci, ai_cs, as_ci, as_cs and the same four without padding.
//! A NO PAD variant of an older collation is 1024 behind it.

use std::sync::LazyLock;

use crate::Charset;
use crate::collation::{Collation, Info, NAMED, SpacePad, UcaVersion, Weights, primary, uca};
use crate::listing::LISTED;

struct Registry {
    infos: Vec<Info>,
    /// Place among `infos` by id.
    places: Box<[u16]>,
    /// For each of `infos` of a wide character set, the id of the same weights in utf8mb4.
    in_utf8: Vec<u16>,
}

const NONE: u16 = u16::MAX;
/// Behind the ids of the last character set's newest collations.
const IDS: usize = 3072 + 256;

/// Name, places behind the first old one and the root, place in the tables of the old and of the new ones.
const LANGUAGES: [(&str, u16, Option<u8>, Option<u8>); 25] = {
    const fn both(name: &'static str, behind: u16) -> (&'static str, u16, Option<u8>, Option<u8>) {
        let place = behind as u8 - 1;
        (name, behind, Some(place), Some(place))
    }
    [
        both("icelandic", 1),
        both("latvian", 2),
        both("romanian", 3),
        both("slovenian", 4),
        both("polish", 5),
        both("estonian", 6),
        both("spanish", 7),
        both("swedish", 8),
        both("turkish", 9),
        both("czech", 10),
        both("danish", 11),
        both("lithuanian", 12),
        both("slovak", 13),
        both("spanish2", 14),
        both("roman", 15),
        both("persian", 16),
        both("esperanto", 17),
        both("hungarian", 18),
        both("sinhala", 19),
        both("german2", 20),
        ("croatian_mysql561", 21, Some(20), None),
        ("vietnamese", 23, Some(21), Some(20)),
        ("croatian", 24, None, Some(21)),
        // The old ones of these two are elsewhere.
        ("croatian", 0, Some(22), None),
        ("myanmar", 1, Some(23), None),
    ]
};
const TURKISH: u8 = 8;

/// Character set, ids of its first old one, of the two that came later, and of the root of the new ones.
const UNICODE: [(Charset, u16, u16, u16); 5] = [
    (Charset::Utf8mb3, 192, 576, 2048),
    (Charset::Utf8mb4, 224, 608, 2304),
    (Charset::Ucs2, 128, 640, 2560),
    (Charset::Utf16, 101, 672, 2816),
    (Charset::Utf32, 160, 736, 3072),
];

/// MySQL's names of the new ones: language, id of ai_ci; as_cs is 23 behind it.
const OF_MYSQL: [(&str, u16, Option<u8>); 21] = [
    ("", 255, None),
    ("de_pb_", 256, Some(19)),
    ("is_", 257, Some(0)),
    ("lv_", 258, Some(1)),
    ("ro_", 259, Some(2)),
    ("sl_", 260, Some(3)),
    ("pl_", 261, Some(4)),
    ("et_", 262, Some(5)),
    ("es_", 263, Some(6)),
    ("sv_", 264, Some(7)),
    ("tr_", 265, Some(8)),
    ("cs_", 266, Some(9)),
    ("da_", 267, Some(10)),
    ("lt_", 268, Some(11)),
    ("sk_", 269, Some(12)),
    ("es_trad_", 270, Some(13)),
    ("la_", 271, Some(14)),
    ("eo_", 273, Some(16)),
    ("hu_", 274, Some(17)),
    ("hr_", 275, Some(21)),
    ("vi_", 277, Some(20)),
];

fn newest(language: Option<u8>) -> UcaVersion {
    language.map_or(UcaVersion::Uca1400, UcaVersion::New)
}

/// Collects rows; names are kept for as long as the process lives.
#[derive(Default)]
struct Rows {
    infos: Vec<Info>,
    in_utf8: Vec<u16>,
}

impl Rows {
    fn add(&mut self, id: u16, name: &'static str, charset: Charset, pad: SpacePad, weights: Weights) {
        self.add_like(id, name, charset, pad, weights, id);
    }

    fn add_like(
        &mut self,
        id: u16,
        name: &'static str,
        charset: Charset,
        pad: SpacePad,
        weights: Weights,
        like: u16,
    ) {
        if self.infos.iter().all(|i| i.id != id) {
            self.infos.push(Info { id, name, charset, pad, weights });
            self.in_utf8.push(like);
        }
    }

    /// An old collation of a Unicode character set, with its place behind the first one.
    fn padded(&mut self, set: Charset, id: u16, name: &str, weights: Weights, in_utf8: u16) {
        let name = format!("{}_{name}", set.name()).leak();
        self.add_like(id, name, set, SpacePad::Pad, weights, in_utf8);
    }

    /// The eight variants of a new one.
    fn variants(&mut self, set: Charset, root: u16, language: &str, behind: u16, place: Option<u8>) {
        for variant in 0..8 {
            let (nopad, accents, case) = (variant & 4 != 0, variant & 2 != 0, variant & 1 != 0);
            let name = format!(
                "{}_uca1400_{language}{}{}_{}",
                set.name(),
                if nopad { "nopad_" } else { "" },
                if accents { "as" } else { "ai" },
                if case { "cs" } else { "ci" },
            );
            let pad = if nopad { SpacePad::NoPad } else { SpacePad::Pad };
            let at = behind * 8 + variant;
            self.add_like(root + at, name.leak(), set, pad, uca(newest(place), accents, case), 2304 + at);
        }
    }

    fn unicode(&mut self) {
        for (set, first, later, root) in UNICODE {
            self.padded(set, first, "unicode_ci", primary(UcaVersion::Uca400), 224);
            self.padded(set, first + 22, "unicode_520_ci", primary(UcaVersion::Uca520), 246);
            self.variants(set, root, "", 0, None);
            for (language, behind, old, new) in LANGUAGES {
                if let Some(place) = old {
                    let (from, in_utf8) = if place >= 22 { (later, 608) } else { (first, 224) };
                    let weights = primary(UcaVersion::Old(place));
                    self.padded(set, from + behind, &format!("{language}_ci"), weights, in_utf8 + behind);
                }
                if new.is_some() {
                    self.variants(set, root, &format!("{language}_"), behind, new);
                }
            }
        }
        let plain = [
            (Charset::Ucs2, 35, 90),
            (Charset::Utf16, 54, 55),
            (Charset::Utf32, 60, 61),
            (Charset::Utf16le, 56, 62),
        ];
        for (set, general, bin) in plain {
            self.padded(set, general, "general_ci", Weights::General, 45);
            self.padded(set, bin, "bin", Weights::Code, 46);
        }
    }

    /// The NO PAD variants of old collations of wide character sets.
    fn without_padding(&mut self) {
        let padded: Vec<_> = self
            .infos
            .iter()
            .zip(&self.in_utf8)
            .map(|(i, like)| (i.id, i.name, i.charset, i.weights, *like))
            .collect();
        for (id, name, set, weights, like) in padded {
            let root = ["_general_ci", "_unicode_ci", "_unicode_520_ci", "_bin"];
            let Some(end) =
                root.iter().find(|end| name.ends_with(**end)).filter(|_| set.is_wide() && id < 1024)
            else {
                continue;
            };
            let (start, short) = (name.trim_end_matches(end), end.trim_end_matches("_ci"));
            let name = if *end == "_bin" {
                format!("{start}_nopad_bin")
            } else {
                format!("{start}{short}_nopad_ci")
            };
            self.add_like(1024 + id, name.leak(), set, SpacePad::NoPad, weights, 1024 + like);
        }
    }

    fn of_mysql(&mut self) {
        for (language, id, place) in OF_MYSQL {
            let mut add = |id: u16, end: &str, accents: bool, case: bool| {
                let name = format!("utf8mb4_{language}0900_{end}").leak();
                self.add(id, name, Charset::Utf8mb4, SpacePad::NoPad, uca(newest(place), accents, case));
            };
            add(id, "ai_ci", false, false);
            add(id + 23, "as_cs", true, true);
        }
        self.add(
            305,
            "utf8mb4_0900_as_ci",
            Charset::Utf8mb4,
            SpacePad::NoPad,
            uca(UcaVersion::Uca1400, true, false),
        );
        self.add(309, "utf8mb4_0900_bin", Charset::Utf8mb4, SpacePad::NoPad, Weights::Code);
    }
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut rows = Rows::default();
    for i in NAMED {
        rows.add(i.id, i.name, i.charset, i.pad, i.weights);
    }
    for (id, name, charset, pad, weights) in LISTED {
        rows.add(*id, name, *charset, *pad, *weights);
    }
    rows.unicode();
    rows.without_padding();
    rows.of_mysql();
    let mut places = vec![NONE; IDS].into_boxed_slice();
    for (place, info) in rows.infos.iter().enumerate() {
        places[usize::from(info.id)] = place as u16;
    }
    Registry { infos: rows.infos, places, in_utf8: rows.in_utf8 }
});

/// Every collation.
pub(crate) fn all() -> &'static [Info] {
    &REGISTRY.infos
}

/// The place of an id, `None` for one that no collation has.
pub(crate) fn place(id: u16) -> Option<usize> {
    REGISTRY.places.get(usize::from(id)).filter(|p| **p != NONE).map(|p| usize::from(*p))
}

/// What is known of a collation's id; it must exist.
#[inline]
pub(crate) fn of(id: u16) -> &'static Info {
    let registry = &*REGISTRY;
    &registry.infos[usize::from(registry.places[usize::from(id)])]
}

/// The collation of utf8mb4 whose weights one of a wide character set has.
pub(crate) fn in_utf8(id: u16) -> Collation {
    let registry = &*REGISTRY;
    Collation(registry.in_utf8[usize::from(registry.places[usize::from(id)])])
}

/// Whether letters change their case as in Turkish: i and I have a dot or not in both.
pub(crate) fn is_turkish(weights: Weights) -> bool {
    use UcaVersion::{New, Old};
    matches!(weights, Weights::Uca { version: Old(TURKISH) | New(TURKISH), .. })
}
