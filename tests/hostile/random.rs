//! The fuzz targets for rings and stores, with random input: what they check is in `fuzz/src`.

#[path = "../../fuzz/src/rings.rs"]
mod rings;
#[path = "../../fuzz/src/store.rs"]
mod store;

/// Rounds of each; `HOSTILE_ROUNDS` asks for more.
fn rounds() -> u64 {
    let more = std::env::var("HOSTILE_ROUNDS").ok();
    more.and_then(|text| text.parse().ok()).unwrap_or(300)
}

#[test]
fn rings_of_random_content() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..rounds() {
        let len = random.usize(..400);
        let mut input: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
        // Small numbers are more often good ones.
        for byte in &mut input {
            if random.u8(..4) > 0 {
                *byte %= 32;
            }
        }
        rings::ring(&input);
    }
}

#[test]
fn stores_of_random_content() {
    let mut random = fastrand::Rng::with_seed(2);
    let words = [
        "{\"header\":{\"schema\":\"witness-decisions/2\",\"plan\":\"@\",\"shard\":[1,1]}}",
        "{\"complete\":0}",
        "{\"complete\":1}",
        "{\"decision\":{\"number\":4294967295,\"pair\":{\"positions\":[1,2],\"example\":[0,1],\"verdict\":{\"Refuted\":{\"MustHappenBefore\":[]}},\"instances\":{\"total\":1,\"ordered\":0,\"locked\":0,\"tried\":0}},\"rejected\":[]}}",
        "\n",
        "{",
        "}",
        "[[[[[[[[",
        "\u{1f600}",
        "null",
        "1e999",
        "witness schedule",
        "race",
        "end",
        "t0 ",
        "- ",
    ];
    for _ in 0..rounds() {
        let input: String = (0..random.usize(..12))
            .map(|_| words[random.usize(..words.len())])
            .collect();
        let mut input = input.into_bytes();
        if let Some(byte) = random.choice(0..input.len()).filter(|_| random.bool()) {
            input[byte] ^= 1 << random.u8(..8);
        }
        store::files(&input);
    }
}
