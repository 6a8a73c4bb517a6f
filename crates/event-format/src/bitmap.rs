//! Bitmaps of columns: bit `i % 8` of byte `i / 8`.

/// A bitmap of as many bits as its user knows columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bitmap<'a>(pub &'a [u8]);

impl<'a> Bitmap<'a> {
    /// Bytes of a bitmap of `bits`.
    pub const fn bytes(bits: usize) -> usize {
        bits.div_ceil(8)
    }

    /// False beyond the end.
    pub fn get(self, i: usize) -> bool {
        self.0.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 != 0)
    }

    /// How many of the first `bits` are set.
    pub fn count(self, bits: usize) -> usize {
        let whole = (bits / 8).min(self.0.len());
        let full: u32 = self.0[..whole].iter().map(|b| b.count_ones()).sum();
        let last = self.0.get(whole).map_or(0, |b| (b & ((1 << (bits % 8)) - 1)).count_ones());
        (full + last) as usize
    }

    /// All of the first `bits` set, and the spare bits of the last byte too, as MariaDB writes "every column".
    pub fn all_set(bits: usize) -> Vec<u8> {
        vec![0xff; Self::bytes(bits)]
    }

    /// A bitmap of `bits` with these set; spare bits are 0.
    pub fn of(bits: usize, set: impl IntoIterator<Item = usize>) -> Vec<u8> {
        let mut out = vec![0; Self::bytes(bits)];
        for i in set {
            assert!(i < bits, "bit {i} of {bits}");
            out[i / 8] |= 1 << (i % 8);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_the_bits_that_stand_for_columns() {
        let all = Bitmap::all_set(13);
        assert_eq!((Bitmap(&all).count(13), Bitmap(&all).count(8), Bitmap(&all).count(3)), (13, 8, 3));
        let some = Bitmap::of(13, [0, 9, 12]);
        assert_eq!(some, [1, 0x12]);
        assert_eq!(Bitmap(&some).count(13), 3);
        assert!(Bitmap(&some).get(9) && !Bitmap(&some).get(8) && !Bitmap(&some).get(99));
    }
}
