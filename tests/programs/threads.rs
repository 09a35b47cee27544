// SPDX-License-Identifier: BSD-2-Clause
// threads.rs - Rust with threads, channels, collections and unwinding panics.  Output is the same in every run.
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;

fn words(seed: u64, count: usize) -> Vec<String> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            format!("w{}", (state >> 33) % 5000)
        })
        .collect()
}

fn histogram(words: &[String]) -> BTreeMap<String, usize> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(word.clone()).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn panics(n: usize) -> usize {
    (0..n)
        .filter(|i| {
            let i = *i;
            std::panic::catch_unwind(move || {
                let kept = vec![i; 100];
                if i % 3 == 0 {
                    std::panic::resume_unwind(Box::new(format!("panic {}", kept[0])));
                }
                kept.len()
            })
            .is_err()
        })
        .count()
}

fn main() {
    let (sender, receiver) = mpsc::channel::<(u64, BTreeMap<String, usize>)>();
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let sender = sender.clone();
            thread::spawn(move || sender.send((seed, histogram(&words(seed, 20000)))).unwrap())
        })
        .collect();
    drop(sender);
    let mut total = BTreeMap::new();
    for (_, part) in receiver {
        for (word, count) in part {
            *total.entry(word).or_insert(0) += count;
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{} {} {}", total.len(), total.values().sum::<usize>(), panics(3000));
}
