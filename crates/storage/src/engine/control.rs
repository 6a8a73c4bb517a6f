//! The control file: where recovery begins.
//!
//! # Layout: `morse.control`, two blocks of 4096 bytes, written in turn (sequence number modulo 2), little-endian
//! ```text
//!    0  magic "MRSCTL1\0"               8
//!    8  format version u32              4
//!   12  flags u32                       4   bit 0: the server was shut down and every page is in its file
//!   16  sequence u64                    8
//!   24  server uuid                    16
//!   40  LSN of the Checkpoint record    8
//!   48  scan start: frame LSN u64       8   at or before redo start, purge position and the record itself
//!   56  scan start: previous CRC u32    4
//!   60  durable LSN u64                 8   the log was durable at least up to here
//!   68  redo start LSN u64              8   changes below are in the data files
//! 4092  CRC-32C of bytes 0..4092        4   in its place in every version
//! ```
//!
//! # Invariants
//! C1. The block that is written is never the one that is valid, and a write is synced before the next begins. So a crash leaves
//!     at least one valid block.
//! C2. The log is kept for the block before the newest as for the newest (`checkpoint` K3), so either will do.
//!
//! # A crash
//! In a write: the block does not verify, the other one counts. During creation: the file is made last, so a data directory without
//! one was never in use.

use std::sync::Arc;

use base::{Corruption, Lsn, Put, Reader, crc32c};
use env::{Caching, Disk, DiskError, DiskResult, File, OpenMode};
use log::FrameStart;

const PATH: &str = "morse.control";
const MAGIC: &[u8; 8] = b"MRSCTL1\0";
const BLOCK: usize = 4096;

/// Version of the data directory that this code reads and writes.
pub const FORMAT_VERSION: u32 = 1;

const CLEAN: u32 = 1;

/// One block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlBlock {
    pub sequence: u64,
    pub server_uuid: [u8; 16],
    pub checkpoint: Lsn,
    pub scan_start: FrameStart,
    pub redo_start: Lsn,
    pub durable: Lsn,
    pub clean: bool,
}

/// Why the control file cannot be used.
#[derive(Debug)]
pub enum ControlError {
    Disk(DiskError),
    /// Neither block verifies.
    Corrupt(Corruption),
    /// Written by a later version of the server.
    Newer {
        version: u32,
    },
}

impl From<DiskError> for ControlError {
    fn from(e: DiskError) -> Self {
        Self::Disk(e)
    }
}

impl std::fmt::Display for ControlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Disk(e) => e.fmt(f),
            Self::Corrupt(e) => e.fmt(f),
            Self::Newer { version } => write!(
                f,
                "the data directory has format version {version}, this server knows versions up to {FORMAT_VERSION}: \
                 start it with the server that wrote it"
            ),
        }
    }
}

impl std::error::Error for ControlError {}

impl ControlBlock {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BLOCK);
        out.put(MAGIC);
        out.put_u32(FORMAT_VERSION);
        out.put_u32(if self.clean { CLEAN } else { 0 });
        out.put_u64(self.sequence);
        out.put(&self.server_uuid);
        out.put_u64(self.checkpoint.0);
        out.put_u64(self.scan_start.lsn.0);
        out.put_u32(self.scan_start.previous_crc);
        out.put_u64(self.durable.0);
        out.put_u64(self.redo_start.0);
        out.resize(BLOCK - 4, 0);
        let crc = crc32c(&out);
        out.put_u32(crc);
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, ControlError> {
        let corrupt = |field, expected: String, found: String| {
            ControlError::Corrupt(Corruption::new(PATH, field, expected, found))
        };
        let within = |e: Corruption| ControlError::Corrupt(e.within(PATH));
        let mut r = Reader::new(bytes);
        let magic = r.bytes(8, "magic").map_err(within)?;
        if magic != MAGIC {
            return Err(corrupt("magic", format!("{MAGIC:02x?}"), format!("{magic:02x?}")));
        }
        let (stored, computed) = (Reader::new(&bytes[BLOCK - 4..]).u32("CRC"), crc32c(&bytes[..BLOCK - 4]));
        if stored != Ok(computed) {
            return Err(corrupt(
                "CRC",
                format!("{computed:#010x}"),
                format!("{:#010x}", stored.unwrap_or(0)),
            ));
        }
        let version = r.u32("format version").map_err(within)?;
        if version > FORMAT_VERSION {
            return Err(ControlError::Newer { version });
        }
        Self::fields(&mut r).map_err(within)
    }

    fn fields(r: &mut Reader<'_>) -> Result<Self, Corruption> {
        let clean = r.u32("flags")? & CLEAN != 0;
        let sequence = r.u64("sequence")?;
        let mut server_uuid = [0; 16];
        server_uuid.copy_from_slice(r.bytes(16, "server uuid")?);
        let checkpoint = Lsn(r.u64("checkpoint LSN")?);
        let lsn = Lsn(r.u64("scan start LSN")?);
        let scan_start = FrameStart { lsn, previous_crc: r.u32("scan start CRC")? };
        let (durable, redo_start) = (Lsn(r.u64("durable LSN")?), Lsn(r.u64("redo start LSN")?));
        if sequence == u64::MAX {
            return Err(Corruption::new("", "sequence", format_args!("below {}", u64::MAX), sequence));
        }
        let named = [
            ("checkpoint LSN", checkpoint),
            ("scan start LSN", lsn),
            ("durable LSN", durable),
            ("redo start LSN", redo_start),
        ];
        if let Some((field, found)) = named.into_iter().find(|(_, lsn)| *lsn > Lsn::LAST) {
            return Err(Corruption::new("", field, format_args!("at most {}", Lsn::LAST), found));
        }
        Ok(Self { sequence, server_uuid, checkpoint, scan_start, redo_start, durable, clean })
    }
}

/// The open control file.
pub struct ControlFile {
    file: Arc<dyn File>,
    current: ControlBlock,
}

impl ControlFile {
    /// Whether the data directory has a control file, that is, has been made completely once.
    pub fn exists(disk: &dyn Disk) -> DiskResult<bool> {
        disk.exists(PATH)
    }

    /// Makes the file with its first block; the directory entry is durable afterwards.
    pub fn create(disk: &dyn Disk, block: ControlBlock) -> DiskResult<Self> {
        let temporary = "morse.control.new";
        let file = disk.open(temporary, OpenMode::Create, Caching::Buffered)?;
        file.set_len(0)?;
        file.set_len(2 * BLOCK as u64)?;
        file.write_at(&block.encode(), offset(block.sequence))?;
        file.sync_data()?;
        drop(file);
        disk.rename(temporary, PATH)?;
        disk.sync_dir("")?;
        let file = disk.open(PATH, OpenMode::Existing, Caching::Buffered)?;
        Ok(Self { file, current: block })
    }

    /// Reads the newest valid block. Syncs first: a block that a killed process had only written is about to be relied on,
    /// and the next write goes over the other one.
    pub fn open(disk: &dyn Disk) -> Result<Self, ControlError> {
        let file = disk.open(PATH, OpenMode::Existing, Caching::Buffered)?;
        file.sync_data()?;
        let len = file.len()?;
        if len < 2 * BLOCK as u64 {
            let (expected, found) = (format!("{} bytes", 2 * BLOCK), format!("{len} bytes"));
            return Err(ControlError::Corrupt(Corruption::new(PATH, "length", expected, found)));
        }
        let mut bytes = vec![0; 2 * BLOCK];
        file.read_at(&mut bytes, 0)?;
        let blocks = (ControlBlock::decode(&bytes[..BLOCK]), ControlBlock::decode(&bytes[BLOCK..]));
        let current = match blocks {
            (Err(ControlError::Newer { version }), _) | (_, Err(ControlError::Newer { version })) => {
                return Err(ControlError::Newer { version });
            }
            (Ok(a), Ok(b)) => {
                if a.sequence > b.sequence {
                    a
                } else {
                    b
                }
            }
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => one,
            (Err(e), Err(_)) => return Err(e),
        };
        Ok(Self { file, current })
    }

    pub fn current(&self) -> &ControlBlock {
        &self.current
    }

    /// Writes the next block over the older one and makes it durable; `sequence` is set here.
    pub fn write(&mut self, mut block: ControlBlock) -> DiskResult<()> {
        block.sequence = self.current.sequence + 1;
        self.file.write_at(&block.encode(), offset(block.sequence))?;
        self.file.sync_data()?;
        self.current = block;
        Ok(())
    }
}

fn offset(sequence: u64) -> u64 {
    sequence % 2 * BLOCK as u64
}

#[cfg(test)]
mod tests {
    use env::SimDisk;

    use super::*;

    fn block() -> ControlBlock {
        ControlBlock {
            sequence: 1,
            server_uuid: *b"0123456789abcdef",
            checkpoint: Lsn(0x1234),
            scan_start: FrameStart { lsn: Lsn(0x1040), previous_crc: 0xdead_beef },
            redo_start: Lsn(0x1060),
            durable: Lsn(0x1300),
            clean: true,
        }
    }

    #[test]
    fn bytes_are_as_documented() {
        let bytes = block().encode();
        let mut golden = b"MRSCTL1\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\x000123456789abcdef".to_vec();
        golden.extend_from_slice(&[0x34, 0x12, 0, 0, 0, 0, 0, 0, 0x40, 0x10, 0, 0, 0, 0, 0, 0]);
        golden.extend_from_slice(&[0xef, 0xbe, 0xad, 0xde, 0x00, 0x13, 0, 0, 0, 0, 0, 0]);
        golden.extend_from_slice(&[0x60, 0x10, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[..76], golden[..]);
        assert!(bytes[76..4092].iter().all(|b| *b == 0));
        assert_eq!(bytes[4092..], crc32c(&bytes[..4092]).to_le_bytes());
        assert_eq!(ControlBlock::decode(&bytes).unwrap(), block());
    }

    #[test]
    fn a_truncated_file_is_refused_with_its_length() {
        for len in [0, 1, BLOCK as u64, 2 * BLOCK as u64 - 1] {
            let sim = SimDisk::new(1);
            drop(ControlFile::create(&sim, block()).unwrap());
            sim.open(PATH, OpenMode::Existing, Caching::Buffered).unwrap().set_len(len).unwrap();
            let refused = ControlFile::open(&sim).err().expect("half a file is no control file");
            let told = format!("corrupt length in morse.control: expected 8192 bytes, found {len} bytes");
            assert_eq!(refused.to_string(), told);
        }
    }

    #[test]
    fn a_crash_in_a_write_leaves_the_block_before() {
        for seed in 0..50 {
            let sim = SimDisk::new(seed);
            let mut control = ControlFile::create(&sim, block()).unwrap();
            let mut written = vec![*control.current()];
            for i in 0..seed % 5 {
                control.write(ControlBlock { checkpoint: Lsn(0x2000 + i), ..block() }).unwrap();
                written.push(*control.current());
            }
            sim.crash_after(sim.calls() + 1 + seed % 2);
            let torn = ControlBlock { checkpoint: Lsn(0x9000), ..block() };
            let done = control.write(torn).is_ok();
            sim.crash();
            let found = *ControlFile::open(&sim).unwrap().current();
            let last = *written.last().unwrap();
            let next = ControlBlock { sequence: last.sequence + 1, ..torn };
            assert!(found == next || (!done && found == last), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn a_power_cut_after_a_kill_leaves_a_block() {
        for seed in 0..50 {
            let sim = SimDisk::new(seed);
            let mut control = ControlFile::create(&sim, block()).unwrap();
            // Killed between write and sync; then the power goes in the next process's first write.
            sim.crash_after(sim.calls() + 1);
            control.write(ControlBlock { checkpoint: Lsn(0x2000), ..block() }).unwrap_err();
            sim.kill();
            let mut control = ControlFile::open(&sim).unwrap();
            assert_eq!(control.current().checkpoint, Lsn(0x2000));
            sim.crash_after(sim.calls() + 1);
            control.write(ControlBlock { checkpoint: Lsn(0x3000), ..block() }).unwrap_err();
            sim.crash();
            let found = ControlFile::open(&sim).unwrap().current().checkpoint;
            assert!(found >= Lsn(0x2000), "seed {seed}: {found}");
        }
    }

    #[test]
    fn a_damaged_block_is_passed_over_and_two_are_refused() {
        let sim = SimDisk::new(1);
        let mut control = ControlFile::create(&sim, block()).unwrap();
        control.write(ControlBlock { checkpoint: Lsn(0x2000), ..block() }).unwrap();
        sim.flip_bit(PATH, 8 * 45);
        let found = ControlFile::open(&sim).unwrap();
        assert_eq!(found.current().checkpoint, Lsn(0x1234));
        sim.flip_bit(PATH, 8 * (4096 + 45));
        let Err(ControlError::Corrupt(found)) = ControlFile::open(&sim) else { panic!("must be refused") };
        assert_eq!(found.field, "CRC");
    }

    #[test]
    fn numbers_that_nothing_can_follow_are_refused() {
        let beyond = Lsn(u64::MAX);
        for (block, field) in [
            (ControlBlock { sequence: u64::MAX, ..block() }, "sequence"),
            (ControlBlock { checkpoint: beyond, ..block() }, "checkpoint LSN"),
            (ControlBlock { durable: beyond, ..block() }, "durable LSN"),
            (ControlBlock { redo_start: beyond, ..block() }, "redo start LSN"),
        ] {
            let Err(ControlError::Corrupt(found)) = ControlBlock::decode(&block.encode()) else {
                panic!("{field} must be refused")
            };
            assert_eq!(found.field, field);
        }
    }

    #[test]
    fn a_newer_version_is_refused_by_name() {
        let sim = SimDisk::new(1);
        let mut control = ControlFile::create(&sim, block()).unwrap();
        control.write(block()).unwrap();
        let mut bytes = block().encode();
        bytes[8] = 2;
        let crc = crc32c(&bytes[..4092]);
        bytes[4092..].copy_from_slice(&crc.to_le_bytes());
        sim.open(PATH, OpenMode::Existing, Caching::Buffered).unwrap().write_at(&bytes, 0).unwrap();
        let Err(error) = ControlFile::open(&sim) else { panic!("must be refused") };
        assert!(error.to_string().contains("format version 2"), "{error}");
    }
}
