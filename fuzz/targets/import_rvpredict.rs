//! The importer of RV-Predict's logs, with and without repairs: arbitrary bytes, and arbitrary records
//! behind a good checksum, six bytes of input each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use twox_hash::XxHash32;
use witness::import::Format;
use witness_fuzz::foreign::mended;

fn sealed(content: &[u8]) -> Vec<u8> {
    let block = |content: &[u8], checksum: u32| {
        let length = (content.len() as u32).to_le_bytes();
        [
            b"LZ4Block\x1f",
            &length[..],
            &length[..],
            &checksum.to_le_bytes()[..],
            content,
        ]
        .concat()
    };
    let checksum = XxHash32::oneshot(0x9747_b28c, content) & 0x0fff_ffff;
    [block(content, checksum), block(&[], 0)].concat()
}

fuzz_target!(|bytes: &[u8]| {
    mended(bytes, Format::RvPredict);
    let mut content = Vec::new();
    for (number, raw) in (0u64..).zip(bytes.chunks_exact(6)) {
        // Mostly in order.
        content.extend((number * 4 + u64::from(raw[0] % 8)).to_be_bytes());
        content.extend(u64::from(raw[1] % 4).to_be_bytes());
        content.extend(u32::from(raw[2]).to_be_bytes());
        content.extend([0, 0, 0, raw[3] % 2, 0, 0, 0, raw[4] % 4]);
        content.extend([0; 8]);
        content.push(raw[5] % 20);
    }
    mended(&sealed(&content), Format::RvPredict);
});
