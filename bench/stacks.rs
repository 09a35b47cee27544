// SPDX-License-Identifier: BSD-2-Clause
//! stacks.rs - 600,000 distinct call stacks of 43 frames on average and 40 million allocations.
//!
//! Usage: stacks [PATHS]     default 50000
//!
//! Each path goes down 32 to 48 levels of four functions that choose the next one by random; near its end three
//! levels allocate at four sites in turn, 66 or 67 times each.

use std::hint::black_box;

struct Walk {
    seed: u64,
    sum: u64,
}

impl Walk {
    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.seed >> 33
    }
}

/// One site each, whatever the compiler would make of the loop: it knows nothing of i.
#[inline(never)]
fn allocate(walk: &mut Walk, count: u64) {
    let mut i = 0;
    while i < count {
        i = black_box(i + 1);
        let a = black_box(Box::new([i; 2]));
        let b = black_box(vec![i as u8; 24]);
        let c = black_box(Box::new((i, black_box(walk.sum))));
        let d = black_box(String::with_capacity(40));
        walk.sum = black_box(walk.sum + a[0] + b[0] as u64 + c.0 + d.len() as u64);
    }
}

macro_rules! level {
    ($name:ident, $add:expr) => {
        #[inline(never)]
        fn $name(walk: &mut Walk, left: u64) {
            if left < 3 {
                allocate(walk, 66 + (left & 1));
            }
            if left > 0 {
                match walk.random() & 3 {
                    0 => level_a(walk, left - 1),
                    1 => level_b(walk, left - 1),
                    2 => level_c(walk, left - 1),
                    _ => level_d(walk, left - 1),
                }
            }
            walk.sum += black_box($add);
        }
    };
}

level!(level_a, 1);
level!(level_b, 2);
level!(level_c, 3);
level!(level_d, 4);

fn main() {
    let paths = std::env::args().nth(1).map_or(50000, |text| text.parse().expect("PATHS is a number"));
    let mut walk = Walk { seed: 1, sum: 0 };

    for _ in 0..paths {
        let depth = 32 + walk.random() % 17;

        level_a(&mut walk, depth);
    }
    println!("{}", walk.sum);
}
