//! A headless browser, driven over the Chrome DevTools protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// Names under which browsers are installed.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
];

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A page that is open.
pub(crate) struct Browser {
    child: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    last: u64,
    faults: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Where an element is, in pixels of the page's window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Whether it was asked to leave out tests in a browser.
pub(crate) fn left_out() -> bool {
    std::env::var_os("LIMPID_BROWSER").is_some_and(|named| named == "none")
}

fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("LIMPID_BROWSER") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).flat_map(|f| NAMES.map(|n| f.join(n)));
    all.find(|p| p.is_file()).unwrap_or_else(|| {
        panic!("no browser to test the page with: `cargo xtask browser` installs one, LIMPID_BROWSER names one")
    })
}

impl Browser {
    /// Opens a page in a window of this size and waits until it is drawn.
    pub(crate) fn open(page: &Path, (width, height): (u32, u32)) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new(program())
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args(["--remote-debugging-port=0", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|l| {
                let line = l.unwrap();
                line.strip_prefix("DevTools listening on ")
                    .map(str::to_owned)
            })
            .unwrap();
        // What the browser says later must not fill its pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = tungstenite::connect(address).unwrap();
        let mut browser = Self {
            child,
            socket,
            session: String::new(),
            last: 0,
            faults: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        browser.call("Runtime.enable", json!({}));
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", metrics);
        let url = format!("file://{}", page.display());
        browser.call("Page.navigate", json!({ "url": url }));
        let begin = Instant::now();
        let drawn = "document.body && document.body.dataset.ready === 'yes' && \
                     [...document.images].every(i => i.complete) && (document.querySelector('#a')?.width ?? 2) > 1";
        while browser.value(drawn) != true {
            assert!(begin.elapsed() < PATIENCE, "the page is not drawn");
            std::thread::sleep(Duration::from_millis(50));
        }
        // Pictures are decoded when they are first shown.
        std::thread::sleep(Duration::from_millis(200));
        browser.frame();
        browser
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket
            .send(Message::text(message.to_string()))
            .unwrap();
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < PATIENCE, "no answer to {method}");
            let Message::Text(text) = self.socket.read().unwrap() else {
                continue;
            };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["method"] == "Runtime.exceptionThrown" {
                self.faults
                    .push(answer["params"]["exceptionDetails"].to_string());
            }
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// What an expression gives.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let got = self.call("Runtime.evaluate", params);
        assert!(got["exceptionDetails"].is_null(), "{expression}: {got}");
        got["result"]["value"].clone()
    }

    /// Waits until the page is drawn again.
    pub(crate) fn frame(&mut self) {
        self.value(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))",
        );
    }

    /// What the page says of its state.
    pub(crate) fn state(&mut self, name: &str) -> String {
        self.frame();
        let value = self.value(&format!("document.body.dataset['{name}']"));
        value.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        let value = self.value(&format!("document.querySelector('{selector}').textContent"));
        value.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn place(&mut self, selector: &str) -> Place {
        let script = format!(
            "(() => {{ const b = document.querySelector('{selector}').getBoundingClientRect(); return [b.x, b.y, b.width, b.height] }})()"
        );
        let value = self.value(&script);
        let at = |i: usize| value[i].as_f64().unwrap();
        Place {
            x: at(0),
            y: at(1),
            width: at(2),
            height: at(3),
        }
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: Value) {
        let mut params = json!({ "type": kind, "x": x, "y": y });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        self.call("Input.dispatchMouseEvent", params);
    }

    pub(crate) fn move_to(&mut self, to: (f64, f64)) {
        self.mouse("mouseMoved", to, json!({}));
        self.frame();
    }

    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let held = json!({ "button": "left", "buttons": 1, "clickCount": 1 });
        self.mouse("mouseMoved", from, json!({}));
        self.mouse("mousePressed", from, held.clone());
        for step in 1..=4 {
            let share = f64::from(step) / 4.0;
            let at = (
                from.0 + share * (to.0 - from.0),
                from.1 + share * (to.1 - from.1),
            );
            self.mouse("mouseMoved", at, held.clone());
        }
        self.mouse(
            "mouseReleased",
            to,
            json!({ "button": "left", "clickCount": 1 }),
        );
        self.frame();
    }

    pub(crate) fn wheel(&mut self, at: (f64, f64), by: f64) {
        self.mouse("mouseWheel", at, json!({ "deltaX": 0, "deltaY": by }));
        self.frame();
    }

    fn press(&mut self, key: &str, modifiers: u32) {
        let code = match key {
            digit if digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit() => {
                format!("Digit{digit}")
            }
            other => other.to_owned(),
        };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({ "type": kind, "key": key, "code": code, "modifiers": modifiers });
            self.call("Input.dispatchKeyEvent", params);
        }
        self.frame();
    }

    pub(crate) fn key(&mut self, key: &str) {
        self.press(key, 0);
    }

    pub(crate) fn shift(&mut self, key: &str) {
        self.press(key, 8);
    }

    /// Errors of the page's script.
    pub(crate) fn faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
