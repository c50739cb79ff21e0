//! What goes wrong on a machine: ports in use, programs that are missing, nodes that die.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::{env, fs};

use serde_json::Value;

use crate::support::{Place, alone, one_node, pause, processes_of, signal};

const GROW: &str = "  grow:
    needs: [cluster]
    uses: grow-cluster
    with: { add: [{ count: 1, type: i4i.large }] }
    grants: { cloud: { types: [i4i.large], machines: 1 } }
";

/// Another process takes the port of the second node while the first one starts.
#[test]
fn a_port_in_use() {
    let _alone = alone();
    let place = Place::new(&one_node(GROW));
    let mut started = place.start();
    started.wait_for("cluster: cluster");
    let machine = fs::read(place.the_run().join("machines/database-1/machine.json")).unwrap();
    let machine: Value = serde_json::from_slice(&machine).unwrap();
    let first: Ipv4Addr = machine["machine"]["address"].as_str().unwrap().parse().unwrap();
    let second = Ipv4Addr::from(u32::from(first) + 1);
    let _taken = TcpListener::bind((second, 9042)).unwrap();
    let (code, said) = started.end(60);
    assert_eq!(code, Some(4), "{said}");
    let reason = place.result()["reasons"][0].as_str().unwrap().to_owned();
    let wanted = format!("step `grow` failed: port 9042 of {second} is in use: end the process that listens there");
    assert!(reason.starts_with(&wanted), "{reason}");
    assert_eq!(place.nodes(), Vec::<u32>::new());
}

#[test]
fn a_node_that_is_killed_while_it_joins() {
    let _alone = alone();
    let place = Place::new(&one_node(GROW));
    let mut started = place.start();
    started.wait_for("grow: join");
    let id = place.the_run().file_name().unwrap().to_str().unwrap().to_owned();
    let log = place.the_run().join("machines/database-2/logs/system.log");
    while fs::metadata(&log).map_or(0, |log| log.len()) < 2_000 {
        pause(100);
    }
    let joining = processes_of(&id).into_iter().filter(|process| {
        let command = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        command.contains("-Dwfe.machine=database-2")
    });
    joining.for_each(|process| signal("KILL", process));
    // It fails at once: what is left to do takes seconds.
    let (code, said) = started.end(25);
    assert_eq!(code, Some(4), "{said}");
    let result = place.result();
    let reason = result["reasons"][0].as_str().unwrap();
    assert!(
        reason.contains("node-2 on database-2 ended with signal: 9 (SIGKILL) before it was ready; its last lines:"),
        "{reason}"
    );
    assert!(reason.contains("INFO") || reason.contains("WARN"), "the reason holds no line of the log: {reason}");
    assert_eq!(place.nodes(), Vec::<u32>::new());
}

/// A directory with these programs alone.
fn path_with(place: &Place, programs: &[&str]) -> String {
    let directory = place.path("bin");
    fs::create_dir_all(&directory).unwrap();
    for name in programs {
        let found =
            env::split_paths(&env::var_os("PATH").unwrap()).map(|dir| dir.join(name)).find(|file| file.is_file());
        symlink(found.unwrap(), directory.join(name)).unwrap();
    }
    directory.to_str().unwrap().to_owned()
}

/// What a run says whose `PATH` has these programs alone, and whose cache is empty.
fn said_with(programs: &[&str]) -> String {
    let place = Place::new(&one_node(""));
    let mut command = place.wfe(&["run", "test.yaml", "--backend", "local"]);
    let output =
        command.env("PATH", path_with(&place, programs)).env("XDG_CACHE_HOME", place.path("cache")).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(!place.path(".wfe/runs").exists() || fs::read_dir(place.path(".wfe/runs")).unwrap().next().is_none());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn programs_that_are_missing() {
    let missing = |name: &str| {
        format!(
            "error: there is no `{name}` on this machine, and the local backend needs Java 17 and Maven to run Cassandra: \
             install them with `apt-get install openjdk-17-jre-headless maven`\n"
        )
    };
    assert_eq!(said_with(&[]), missing("java"));
    assert_eq!(said_with(&["java"]), missing("mvn"));
}

#[test]
fn a_java_of_another_version() {
    let place = Place::new(&one_node(""));
    let path = path_with(&place, &["sh"]);
    let java = place.path("bin/java");
    fs::write(&java, "#!/bin/sh\necho 'openjdk version \"21.0.1\" 2023-10-17' >&2\n").unwrap();
    fs::set_permissions(&java, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.wfe(&["run", "test.yaml", "--backend", "local"]);
    let output = command.env("PATH", path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("Cassandra 5.0.8 runs on Java 17, and `"), "{said}");
    assert!(said.contains("` says `openjdk version \"21.0.1\" 2023-10-17`: install it with"), "{said}");
}
