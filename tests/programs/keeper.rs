// SPDX-License-Identifier: BSD-2-Clause
//! keeper - a server on loopback that keeps what its four clients send: 40 MiB.  Then waits for a line.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

const CLIENTS: usize = 4;
const MESSAGES: usize = 5120;
const SIZE: usize = 2048;

fn serve(mut stream: TcpStream, kept: Arc<Mutex<Vec<Box<[u8]>>>>) {
    let mut message = vec![0u8; SIZE];
    while stream.read_exact(&mut message).is_ok() {
        kept.lock().unwrap().push(message.clone().into_boxed_slice());
        stream.write_all(b"k").unwrap();
    }
}

fn send(address: std::net::SocketAddr) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answer = [0u8; 1];
    for _ in 0..MESSAGES {
        stream.write_all(&[1u8; SIZE]).unwrap();
        stream.read_exact(&mut answer).unwrap();
    }
    // The server's thread goes on to wait.
    std::mem::forget(stream);
}

fn main() {
    let kept = Arc::new(Mutex::new(Vec::with_capacity(CLIENTS * MESSAGES)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for _ in 0..CLIENTS {
        let client = thread::spawn(move || send(address));
        let (stream, _) = listener.accept().unwrap();
        let shared = kept.clone();
        thread::spawn(move || serve(stream, shared));
        client.join().unwrap();
    }
    let bytes: usize = kept.lock().unwrap().iter().map(|message| message.len()).sum();
    println!("ready {}", bytes);
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
