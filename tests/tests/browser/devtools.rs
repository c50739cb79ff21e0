//! A headless browser, driven through its pipe for developer tools: JSON messages that end with a NUL byte.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one open page.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// Everything that happened on the page, in order.
    pub events: Vec<Value>,
    _profile: TempDir,
}

/// The browser's program. Where there is none, a test fails in CI, and says elsewhere what to install.
pub fn program() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file());
    if found.is_none() {
        let missing = "there is no chromium on this machine: apt-get install chromium";
        assert_ne!(env::var("CI").as_deref(), Ok("true"), "{missing}");
        eprintln!("not tested: {missing}");
    }
    found
}

impl Browser {
    /// Starts a browser and opens an empty page of that width.
    pub fn open(program: &PathBuf, width: u32) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The browser reads commands from descriptor 3 and writes messages to descriptor 4.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "sh"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, messages) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                drop(sender.send(serde_json::from_slice(&message).unwrap()));
            }
        });
        let commands = child.stdin.take().unwrap();
        let mut browser =
            Self { child, commands, messages, session: None, sent: 0, events: Vec::new(), _profile: profile };
        browser.attach(width);
        browser
    }

    fn attach(&mut self, width: u32) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = self.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Goes to an address and waits until it is loaded.
    pub fn go(&mut self, url: &str) {
        let went = self.call("Page.navigate", json!({ "url": url }));
        assert!(went["errorText"].is_null(), "{went}");
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            self.receive();
        }
    }

    /// The value of an expression on the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let arguments = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", arguments);
        assert!(answer["exceptionDetails"].is_null(), "{answer:#}");
        answer["result"]["value"].clone()
    }

    /// Calls a method of the browser, or of the page once there is one; answers its result.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.commands.write_all(message.to_string().as_bytes()).and_then(|()| self.commands.write_all(&[0])).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.sent {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE).expect("the browser answers");
        if message["id"].is_null() {
            self.events.push(message.clone());
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
