//! Random moments whose seed a failed test can name: SplitMix64.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A small generator; [`Random::seed`] makes a run repeatable.
pub(crate) struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// From `WARMCELL_TEST_SEED`, or from the clock.
    pub(crate) fn new() -> Self {
        let seed = match std::env::var("WARMCELL_TEST_SEED") {
            Ok(seed) => seed.parse().expect("`WARMCELL_TEST_SEED` is a number"),
            Err(_) => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_nanos() as u64),
        };
        Self::from_seed(seed)
    }

    pub(crate) fn from_seed(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    /// What to set `WARMCELL_TEST_SEED` to for the same run.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// A time between two, to the microsecond.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = (most - least).as_micros() as u64;
        least + Duration::from_micros(self.below(span + 1))
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}
