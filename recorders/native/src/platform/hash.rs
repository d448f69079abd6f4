//! Hash tables of the runtime: small keys, no attacker.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

pub type Table<K, V> = HashMap<K, V, Build>;

/// Makes [`Mix`]es.
#[derive(Clone, Copy)]
pub struct Build;

/// One multiplication a word.
pub struct Mix(u64);

impl BuildHasher for Build {
    type Hasher = Mix;
    fn build_hasher(&self) -> Mix {
        Mix(0)
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
