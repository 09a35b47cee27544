// SPDX-License-Identifier: BSD-2-Clause
//
// server - answers many common requests, and keeps what the rare ones bring: the leak that test_server_story.py looks for.
//
//   GET /page/N      renders a page, and keeps the last 256
//   POST /session/N  keeps the body for ever
//   POST /end        ends the process as servers do: nothing is given back
//
// Prints its pid and port once it listens on loopback.
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use hyper::service::{make_service_fn, service_fn};
use hyper::{Body, Method, Request, Response, Server, StatusCode};

const PAGES: usize = 256;
const WORDS: usize = 50_000;
const WORKERS: usize = 4;

struct Session {
    user: String,
    notes: Vec<u8>,
}

#[derive(Default)]
struct Sessions {
    by_id: Mutex<HashMap<u64, Session>>,
}

impl Sessions {
    /// Nobody calls the function that would forget it.
    fn remember(&self, id: u64, notes: &[u8]) -> String {
        let session = Session { user: format!("user {id}"), notes: notes.to_vec() };
        let said = format!("{} wrote {} bytes\n", session.user, session.notes.len());
        self.by_id.lock().unwrap().insert(id, session);
        said
    }
}

struct Site {
    words: Vec<String>,
    pages: Mutex<VecDeque<String>>,
    sessions: Sessions,
}

fn load_words() -> Vec<String> {
    (0..WORDS).map(|i| format!("{:0160}", i)).collect()
}

impl Site {
    fn render(&self, page: usize) -> String {
        let count = 10 + page % 20;
        let mut lines: Vec<String> = Vec::new();
        for i in 0..count {
            let word = &self.words[(page * 31 + i * 17) % self.words.len()];
            lines.push(format!("<li>{word}</li>"));
        }
        format!("<ul>{}</ul>", lines.join("\n"))
    }

    fn keep_page(&self, page: String) {
        let mut pages = self.pages.lock().unwrap();
        pages.push_back(page);
        if pages.len() > PAGES {
            pages.pop_front();
        }
    }

    fn show_page(&self, number: usize) -> String {
        let page = self.render(number);
        self.keep_page(page.clone());
        page
    }
}

async fn answer(site: Arc<Site>, request: Request<Body>) -> Result<Response<Body>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let number = path.rsplit('/').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);

    if request.method() == Method::POST && path.starts_with("/session/") {
        let notes = hyper::body::to_bytes(request.into_body()).await?;
        return Ok(Response::new(Body::from(site.sessions.remember(number, &notes))));
    }
    if request.method() == Method::POST && path == "/end" {
        std::process::exit(0);
    }
    if path.starts_with("/page/") {
        return Ok(Response::new(Body::from(site.show_page(number as usize))));
    }
    let mut missing = Response::new(Body::empty());
    *missing.status_mut() = StatusCode::NOT_FOUND;
    Ok(missing)
}

async fn serve(listener: TcpListener, site: Arc<Site>) {
    let make = make_service_fn(move |_connection| {
        let site = site.clone();
        async move { Ok::<_, Infallible>(service_fn(move |request| answer(site.clone(), request))) }
    });
    Server::from_tcp(listener).expect("listener").serve(make).await.expect("server");
}

fn main() {
    let site = Arc::new(Site {
        words: load_words(),
        pages: Mutex::new(VecDeque::new()),
        sessions: Sessions::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");

    listener.set_nonblocking(true).expect("nonblocking");
    println!("{} {}", std::process::id(), listener.local_addr().expect("address").port());
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .expect("runtime")
        .block_on(serve(listener, site));
}
