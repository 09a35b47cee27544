// SPDX-License-Identifier: BSD-2-Clause
// inlined.rs - generics and closures that an optimizer inlines; allocates in the functions that test_first_screen.py names.
use std::collections::HashMap;

mod session {
    pub struct Session {
        pub entries: Vec<String>,
    }

    impl Session {
        #[inline(always)]
        pub fn remember(&mut self, text: &str) {
            self.entries.push(text.repeat(400)); // LINE remember
        }
    }
}

fn total<T: Copy + Into<u64>>(numbers: &[T]) -> u64 {
    numbers.iter().map(|n| (*n).into()).sum()
}

#[inline(never)]
fn handle_rare_request(session: &mut session::Session, text: &str) {
    session.remember(text); // LINE handle_rare_request
}

#[inline(never)]
fn index_words(words: &[String]) -> HashMap<String, Vec<usize>> {
    let mut index: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, word) in words.iter().enumerate() {
        index.entry(word.clone()).or_default().push(i);
    }
    index
}

fn main() {
    let mut session = session::Session { entries: Vec::new() };
    let words: Vec<String> = (0..200).map(|i| format!("word {}", i * 7919 % 100)).collect();
    let index = index_words(&words);
    let mut sizes: Vec<u32> = index.values().map(|v| v.len() as u32).collect();
    sizes.sort_by(|a, b| b.cmp(a));
    for i in 0..1000 {
        handle_rare_request(&mut session, &words[i % words.len()]);
    }
    let worker = std::thread::spawn(|| {
        let mut kept: Vec<Box<[u8]>> = Vec::new();
        for _ in 0..100 {
            kept.push(vec![1u8; 9000].into_boxed_slice()); // LINE thread
        }
        kept
    });
    let kept = worker.join().unwrap();
    println!("{} {} {}", total(&sizes), session.entries.len(), kept.len());
    std::process::exit(0);
}
