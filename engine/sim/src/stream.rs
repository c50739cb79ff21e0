//! The pace of streams: what senders can send, receivers can take, and how receivers share.

use crate::calibration::Constants;
use crate::cluster::{Cluster, Node};
use crate::flow::{NodeFlow, limit};

/// The rate of every move of a tablet, bytes a second; notes on the nodes what they send and receive.
pub fn rates(cluster: &Cluster, nodes: &mut [NodeFlow], compaction: f64) -> Vec<f64> {
    let Some(tablets) = &cluster.tablets else { return Vec::new() };
    let c = &cluster.database.constants;
    let least = c.streaming_shares / (c.foreground_shares + c.streaming_shares + compaction);
    let mut rates = vec![0.0; tablets.moves.len()];
    for to in 0..nodes.len() {
        let streams: Vec<usize> = (0..rates.len()).filter(|&index| tablets.moves[index].to == to).collect();
        let offer = |index: &usize| {
            let from = tablets.moves[*index].from;
            offered(cluster, &nodes[from], &cluster.nodes[from], least)
        };
        let offers: Vec<f64> = streams.iter().map(offer).collect();
        let shares = max_min(&offers, taken(c, &nodes[to], &cluster.nodes[to], least));
        streams.iter().zip(shares).for_each(|(&index, share)| rates[index] = share);
    }
    for (current, rate) in tablets.moves.iter().zip(&rates) {
        nodes[current.from].stream_out += rate;
        nodes[current.to].stream_in += rate;
    }
    rates
}

fn offered(cluster: &Cluster, flow: &NodeFlow, node: &Node, least: f64) -> f64 {
    let c = &cluster.database.constants;
    let hardware = &node.hardware;
    let limits = [
        hardware.read_bw() * (1.0 - flow.read_use(node)).max(least),
        cpu_bound(c, flow, node, least),
        limit(cluster.database.version.sending_mb_s_a_vcpu) * hardware.cpus(),
        c.stream_disk_part * hardware.read_bw(),
        c.stream_network_part * hardware.network_bw(),
        limit(c.session_mb_s),
    ];
    limits.into_iter().fold(f64::INFINITY, f64::min)
}

fn taken(c: &Constants, flow: &NodeFlow, node: &Node, least: f64) -> f64 {
    let hardware = &node.hardware;
    let limits = [
        c.stream_disk_part * hardware.write_bw(),
        hardware.write_bw() * (1.0 - flow.write_use(node, c)).max(least),
        c.stream_network_part * hardware.network_bw(),
        cpu_bound(c, flow, node, least),
    ];
    limits.into_iter().fold(f64::INFINITY, f64::min)
}

fn cpu_bound(c: &Constants, flow: &NodeFlow, node: &Node, least: f64) -> f64 {
    limit(Some(c.stream_mb_s_a_vcpu))
        * node.hardware.cpus()
        * node.hardware.speed
        * (1.0 - flow.all_cpu_use(node)).max(least)
}

/// Shares a capacity: nobody gets more than offered, and nobody less than another one unless it offered less.
fn max_min(offers: &[f64], capacity: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..offers.len()).collect();
    order.sort_by(|&a, &b| offers[a].total_cmp(&offers[b]));
    let mut shares = vec![0.0; offers.len()];
    let mut left = capacity;
    for (done, &index) in order.iter().enumerate() {
        shares[index] = offers[index].min(left / (offers.len() - done) as f64);
        left -= shares[index];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fair() {
        assert_eq!(max_min(&[10.0, 100.0, 100.0], 90.0), [10.0, 40.0, 40.0]);
        assert_eq!(max_min(&[10.0, 20.0], 90.0), [10.0, 20.0]);
        assert!(max_min(&[], 90.0).is_empty());
    }
}
