//! TO_CHAR(date [, format]): Oracle's format words.

use types::{Context, DateTime, Value, Warning};

use crate::arguments::{Answer, Args, NULL, ascii, some};
use crate::calendar::{DAYS, MONTHS};

/// Longest words first: the first one that fits is taken.
const WORDS: [&str; 19] = [
    "MONTH", "YYYY", "RRRR", "HH24", "HH12", "YYY", "MON", "DAY", "YY", "RR", "MM", "DD", "DY", "HH", "MI",
    "SS", "AM", "PM", "Y",
];

pub(crate) fn to_char(args: Args<'_>, ctx: &mut Context) -> Answer {
    let d = some!(args[0].to_datetime(ctx));
    let format = match args.get(1) {
        None => "YYYY-MM-DD HH24:MI:SS".to_owned(),
        Some(Value::Null) => return NULL,
        Some(value) => some!(value.to_str(ctx)).to_utf8_lossy(),
    };
    match write(&format, &d) {
        Ok(out) => ascii(out.as_bytes(), ctx),
        Err(what) => {
            let text =
                format!("Invalid argument error: date format not recognized at {what} in function to_char.");
            ctx.warn(Warning::Numbered { errno: 3047, text });
            NULL
        }
    }
}

fn write(format: &str, d: &DateTime) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let upper = rest.chars().take(5).collect::<String>().to_uppercase();
        if let Some(word) = WORDS.iter().find(|w| upper.starts_with(**w)) {
            out.push_str(&part(word, d));
            rest = &rest[word.len()..];
        } else if first == '"' {
            let end = rest[1..].find('"').ok_or_else(|| rest.chars().take(8).collect::<String>())?;
            out.push_str(&rest[1..=end]);
            rest = &rest[end + 2..];
        } else if first.is_ascii_punctuation() || first == ' ' {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            return Err(rest.chars().take(8).collect());
        }
    }
    Ok(out)
}

fn part(word: &str, d: &DateTime) -> String {
    let year = d.date.year;
    let month = usize::from(d.date.month).checked_sub(1).map_or("", |m| MONTHS[m.min(11)]);
    let day = || DAYS[usize::from(d.date.weekday())];
    let hour12 = match d.hour % 12 {
        0 => 12,
        h => h,
    };
    match word {
        "MONTH" => format!("{month:<9}"),
        "MON" => month.chars().take(3).collect(),
        "YYYY" | "RRRR" => format!("{year:04}"),
        "YYY" => format!("{:03}", year % 1000),
        "YY" | "RR" => format!("{:02}", year % 100),
        "Y" => (year % 10).to_string(),
        "MM" => format!("{:02}", d.date.month),
        "DD" => format!("{:02}", d.date.day),
        "DAY" => format!("{:<9}", day()),
        "DY" => day().chars().take(3).collect(),
        "HH24" => format!("{:02}", d.hour),
        "HH12" | "HH" => format!("{hour12:02}"),
        "MI" => format!("{:02}", d.minute),
        "SS" => format!("{:02}", d.second),
        _ => (if d.hour < 12 { "AM" } else { "PM" }).to_owned(),
    }
}
