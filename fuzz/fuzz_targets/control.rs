//! Any bytes as the control file; half of the inputs get right checksums, so that the fields behind them are reached.
#![no_main]

use base::crc32c;
use env::{Caching, OpenMode, SimDisk};
use libfuzzer_sys::fuzz_target;
use storage::engine::control::ControlFile;

const BLOCK: usize = 4096;

fuzz_target!(|data: &[u8]| {
    let Some((sealed, bytes)) = data.split_first() else { return };
    // The fields are in the first 100 bytes of each block.
    let (first, second) = bytes.split_at(bytes.len().min(100));
    let mut content = vec![0; 2 * BLOCK];
    content[..first.len()].copy_from_slice(first);
    let size = second.len().min(BLOCK);
    content[BLOCK..BLOCK + size].copy_from_slice(&second[..size]);
    for (i, block) in content.chunks_exact_mut(BLOCK).enumerate() {
        if sealed >> i & 1 != 0 {
            block[..8].copy_from_slice(b"MRSCTL1\0");
            let crc = crc32c(&block[..BLOCK - 4]);
            block[BLOCK - 4..].copy_from_slice(&crc.to_le_bytes());
        }
    }
    let simulated = SimDisk::new(1);
    let disk = simulated.disk();
    let file = disk.open("morse.control", OpenMode::Create, Caching::Buffered).expect("an empty disk");
    file.write_at(&content, 0).expect("a working disk");
    let Ok(mut control) = ControlFile::open(&*disk) else { return };
    let current = *control.current();
    control.write(current).expect("a working disk");
});
