//! Loopback addresses: a block of 254 for each run, so that runs beside each other do not meet.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use sha2::{Digest, Sha256};
use wfe_core::CallError;

/// The port on which a node answers CQL.
pub const CQL_PORT: u16 = 9042;
/// The port on which nodes talk to each other.
pub const STORAGE_PORT: u16 = 7000;

/// The first three numbers of a run's addresses, from 127.16.0 to 127.239.255: made of the run's id, so that a resumed run
/// finds its own again. 127.0 is left to the rest of the machine.
pub fn block_of(run: &str) -> [u8; 3] {
    let hash = Sha256::digest(run);
    [127, 16 + hash[0] % 224, hash[1]]
}

/// The address with that last number, which counts from 1.
pub fn address(block: [u8; 3], number: u8) -> Ipv4Addr {
    Ipv4Addr::new(block[0], block[1], block[2], number)
}

/// Whether a node could use the address now: an error names the port that is taken.
pub fn check_free(address: Ipv4Addr) -> Result<(), CallError> {
    for port in [CQL_PORT, STORAGE_PORT] {
        TcpListener::bind(SocketAddrV4::new(address, port)).map_err(|e| refused(address, port, &e))?;
    }
    Ok(())
}

fn refused(address: Ipv4Addr, port: u16, why: &io::Error) -> CallError {
    if why.kind() != io::ErrorKind::AddrInUse {
        return CallError::infrastructure("address", format!("cannot listen on {address}:{port}: {why}"));
    }
    let message = format!(
        "port {port} of {address} is in use: end the process that listens there (`ss -ltnp 'sport = :{port}'` shows \
         it; one on 0.0.0.0 takes the port of every address), then run again"
    );
    CallError::infrastructure("port-in-use", message)
}

/// A port of 127.0.0.1 that is free now, for a node's management interface.
pub fn free_port() -> Result<u16, CallError> {
    TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| CallError::infrastructure("address", format!("cannot find a free port on 127.0.0.1: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_same_block_again_and_another_run_another() {
        assert_eq!(block_of("r1"), block_of("r1"));
        assert_ne!(block_of("r1"), block_of("r2"));
        assert!((0..500).map(|n| block_of(&format!("r{n}"))).all(|block| block[0] == 127 && block[1] >= 16));
    }

    #[test]
    fn a_taken_port_is_named_with_what_to_do() {
        let address = Ipv4Addr::new(127, 9, 9, 9);
        let _taken = TcpListener::bind(SocketAddrV4::new(address, STORAGE_PORT)).unwrap();
        let error = check_free(address).unwrap_err();
        assert_eq!(error.code, "port-in-use");
        assert!(error.message.starts_with("port 7000 of 127.9.9.9 is in use: end the process that listens there"));
    }
}
