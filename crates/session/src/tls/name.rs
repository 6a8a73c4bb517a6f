//! Names in certificates: subject and issuer as OpenSSL writes them in one line, validity as status variables show it.
//!
//! # Layout
//! A certificate is DER: `SEQUENCE { SEQUENCE { [0] version?, serial, algorithm, issuer, validity, subject, .. }, .. }`. A name is a
//! sequence of sets of `SEQUENCE { OID, string }`; it is written `/C=FI/O=Example/CN=client`.

/// What is read of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CertificateFacts {
    pub issuer: String,
    pub subject: String,
    pub not_before: String,
    pub not_after: String,
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const VERSION: u8 = 0xa0;

/// One value: its tag and its content.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let count = usize::from(first & 0x7f);
            if count > 4 {
                return None;
            }
            let (bytes, after) = rest.split_at_checked(count)?;
            length = bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b));
            rest = after;
        }
        let (content, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, content))
    }
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }
}

/// Reads a certificate; None when it is not one.
pub(crate) fn read(der: &[u8]) -> Option<CertificateFacts> {
    let mut certificate = Der(Der(der).expect(SEQUENCE)?);
    let mut body = Der(certificate.expect(SEQUENCE)?);
    if body.0.first() == Some(&VERSION) {
        body.next()?;
    }
    // Serial number and algorithm.
    body.next()?;
    body.expect(SEQUENCE)?;
    let issuer = one_line(body.expect(SEQUENCE)?)?;
    let mut validity = Der(body.expect(SEQUENCE)?);
    let (not_before, not_after) = (time(validity.next()?)?, time(validity.next()?)?);
    let subject = one_line(body.expect(SEQUENCE)?)?;
    Some(CertificateFacts { issuer, subject, not_before, not_after })
}

fn one_line(name: &[u8]) -> Option<String> {
    let mut out = String::new();
    let mut sets = Der(name);
    while !sets.0.is_empty() {
        let mut set = Der(sets.expect(SET)?);
        while !set.0.is_empty() {
            let mut pair = Der(set.expect(SEQUENCE)?);
            let oid = pair.expect(OID)?;
            let (_, value) = pair.next()?;
            out.push('/');
            out.push_str(&attribute(oid));
            out.push('=');
            for byte in value {
                match byte {
                    b' '..=b'~' => out.push(*byte as char),
                    other => out.push_str(&format!("\\x{other:02X}")),
                }
            }
        }
    }
    Some(out)
}

/// The short name of an attribute, or its number.
fn attribute(oid: &[u8]) -> String {
    let known = match oid {
        [0x55, 4, 3] => "CN",
        [0x55, 4, 4] => "SN",
        [0x55, 4, 5] => "serialNumber",
        [0x55, 4, 6] => "C",
        [0x55, 4, 7] => "L",
        [0x55, 4, 8] => "ST",
        [0x55, 4, 9] => "street",
        [0x55, 4, 10] => "O",
        [0x55, 4, 11] => "OU",
        [0x55, 4, 12] => "title",
        [0x55, 4, 42] => "GN",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1] => "emailAddress",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25] => "DC",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1] => "UID",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let mut numbers = Vec::new();
    let mut number = 0u64;
    for byte in oid {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if numbers.is_empty() {
                let first = (number / 40).min(2);
                numbers.push(first.to_string());
                number -= first * 40;
            }
            numbers.push(number.to_string());
            number = 0;
        }
    }
    numbers.join(".")
}

/// `Nov 27 16:04:18 2036 GMT`
fn time((tag, digits): (u8, &[u8])) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = std::str::from_utf8(digits).ok()?;
    let (year, rest) = if tag == UTC_TIME {
        let (year, rest) = text.split_at_checked(2)?;
        let year: u32 = year.parse().ok()?;
        (if year < 50 { 2000 + year } else { 1900 + year }, rest)
    } else {
        let (year, rest) = text.split_at_checked(4)?;
        (year.parse().ok()?, rest)
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<u32>().ok();
    let month = MONTHS.get((part(0)? as usize).checked_sub(1)?)?;
    let (day, hour, minute, second) = (part(2)?, part(4)?, part(6)?, part(8)?);
    Some(format!("{month} {day:2} {hour:02}:{minute:02}:{second:02} {year} GMT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_times_are_written_as_openssl_does() {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        let mut name = rcgen::DistinguishedName::new();
        name.push(rcgen::DnType::CountryName, "FI");
        name.push(rcgen::DnType::OrganizationName, "An Example");
        name.push(rcgen::DnType::CommonName, "client");
        params.distinguished_name = name;
        params.not_before = rcgen::date_time_ymd(2026, 2, 3);
        params.not_after = rcgen::date_time_ymd(2051, 12, 31);
        let key = rcgen::KeyPair::generate().unwrap();
        let facts = read(params.self_signed(&key).unwrap().der()).unwrap();
        assert_eq!(facts.subject, "/C=FI/O=An Example/CN=client");
        assert_eq!(facts.issuer, facts.subject);
        assert_eq!(facts.not_before, "Feb  3 00:00:00 2026 GMT");
        assert_eq!(facts.not_after, "Dec 31 00:00:00 2051 GMT");
    }

    #[test]
    fn what_is_no_certificate_is_none() {
        assert_eq!(read(b""), None);
        assert_eq!(read(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(read(&[SEQUENCE, 2, SEQUENCE, 0]), None);
        assert_eq!(attribute(&[0x2a, 0x03, 0x84, 0x01]), "1.2.3.513");
    }
}
