//! What flows now: the rate of each load, the use of each node, the pace of each stream. Constant during one step.

use wfe_core::Millis;

use crate::calibration::{Constants, GIB, MB};
use crate::cluster::{Cluster, Node};
use crate::load::Load;
use crate::visits::{Rules, Visits};

/// The most that a resource is used, for queues.
const MOST_USE: f64 = 0.995;
/// Writes of a byte to disk that do not wait: commit log and flush.
const DIRECT_WRITES: f64 = 2.0;

/// What flows.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    /// By node.
    pub nodes: Vec<NodeFlow>,
    /// By load; a load that does not send has no rate.
    pub loads: Vec<LoadFlow>,
    /// By move of a tablet, bytes a second.
    pub streams: Vec<f64>,
}

/// What flows on a node.
#[derive(Debug, Clone, Copy, Default)]
pub struct NodeFlow {
    /// Part of CPU and disk that requests may use.
    pub part: f64,
    /// CPU of requests, CPU-seconds a second.
    pub cpu: f64,
    /// CPU of compaction, CPU-seconds a second.
    pub compaction_cpu: f64,
    /// Disk reads of requests, bytes a second.
    pub reads: f64,
    /// Disk reads of compaction, bytes a second.
    pub compaction_reads: f64,
    /// Bytes written by requests a second.
    pub ingest: f64,
    /// Parts of operations that arrive a second.
    pub requests: f64,
    /// Received by streams, bytes a second.
    pub stream_in: f64,
    /// Sent by streams, bytes a second.
    pub stream_out: f64,
    /// CPU use by requests of what they may have, from 0 to 0.995.
    pub cpu_use: f64,
    /// Disk use by requests of what they may have, from 0 to 0.995.
    pub disk_use: f64,
}

/// What flows of a load.
#[derive(Debug, Clone, Default)]
pub struct LoadFlow {
    /// Operations that end a second, failed ones included.
    pub rate: f64,
    /// Expected visits of an operation.
    pub visits: Visits,
    /// Part of the reads that go to disk, by node.
    pub miss: Vec<f64>,
    /// Part of the writes that are refused because a disk is full.
    pub refused: f64,
}

/// What one operation costs on one node.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    compaction_cpu: f64,
    reads: f64,
    compaction_reads: f64,
    ingest: f64,
    requests: f64,
}

/// What flows in a cluster under these loads.
pub fn flow(cluster: &Cluster, loads: &[Load], now: Millis) -> Flow {
    let c = &cluster.database.constants;
    let streams_now = streaming_nodes(cluster);
    let compaction = compaction_shares(c, now);
    let part = |streams: bool| match streams {
        true => c.foreground_shares / (c.foreground_shares + c.streaming_shares + compaction),
        false => 1.0,
    };
    let mut nodes: Vec<NodeFlow> =
        streams_now.iter().map(|&streams| NodeFlow { part: part(streams), ..NodeFlow::default() }).collect();
    let mut flows: Vec<LoadFlow> = loads.iter().map(|load| load_flow(cluster, load)).collect();
    let costs: Vec<Vec<Cost>> = loads.iter().zip(&flows).map(|(load, flow)| costs(cluster, load, flow)).collect();
    set_rates(cluster, loads, &nodes, &costs, &mut flows);
    for (flow, costs) in flows.iter().zip(&costs) {
        nodes.iter_mut().zip(costs).for_each(|(node, cost)| add_use(node, flow.rate, cost));
    }
    nodes.iter_mut().zip(&cluster.nodes).for_each(|(flow, node)| finish_use(flow, node));
    let streams = crate::stream::rates(cluster, &mut nodes, compaction);
    Flow { nodes, loads: flows, streams }
}

fn streaming_nodes(cluster: &Cluster) -> Vec<bool> {
    let mut streaming = vec![false; cluster.nodes.len()];
    for current in cluster.tablets.iter().flat_map(|tablets| &tablets.moves) {
        streaming[current.from] = true;
        streaming[current.to] = true;
    }
    streaming
}

/// Shares of compaction now: it comes in bursts.
fn compaction_shares(c: &Constants, now: Millis) -> f64 {
    let phase = now / 1000 / u64::from(c.burst_s) % 2;
    if phase == 0 { 2.0 * c.compaction_shares } else { 0.0 }
}

/// Which replicas answer a load.
pub fn rules<'a>(cluster: &Cluster, load: &Load, busy: &'a [f64]) -> Rules<'a> {
    Rules { quorum: load.quorum(), up: cluster.up(), driver: cluster.database.constants.driver, busy }
}

fn load_flow(cluster: &Cluster, load: &Load) -> LoadFlow {
    let (true, Some(tablets)) = (load.running(), &cluster.tablets) else { return LoadFlow::default() };
    let busy: Vec<f64> = cluster.nodes.iter().map(|node| node.busy).collect();
    let visits = rules(cluster, load, &busy).visits(tablets);
    let miss =
        cluster.parts().iter().zip(&cluster.nodes).map(|(&part, node)| miss(cluster, load, part, node)).collect();
    let refused = if cluster.full() { 1.0 } else { visits.failed };
    LoadFlow { rate: 0.0, visits, miss, refused }
}

/// Part of the reads on a node that go to disk.
fn miss(cluster: &Cluster, load: &Load, part: f64, node: &Node) -> f64 {
    let c = &cluster.database.constants;
    let present = (cluster.rows / load.spec.rows as f64).min(1.0);
    if part <= 0.0 {
        return present;
    }
    let fit = c.cache_part * node.hardware.memory_gib * GIB / (c.cache_expansion * load.row_bytes()) / part;
    (1.0 - load.hit_part(fit)).max(0.0) * present
}

fn costs(cluster: &Cluster, load: &Load, flow: &LoadFlow) -> Vec<Cost> {
    if flow.miss.is_empty() {
        return vec![Cost::default(); cluster.nodes.len()];
    }
    (0..cluster.nodes.len()).map(|node| cost(cluster, load, flow, node)).collect()
}

fn cost(cluster: &Cluster, load: &Load, flow: &LoadFlow, node: usize) -> Cost {
    let c = &cluster.database.constants;
    let speed = cluster.nodes[node].hardware.speed;
    let miss = flow.miss[node];
    let coordinator = flow.visits.coordinator[node];
    let read = (1.0 - load.writes) * flow.visits.read[node];
    let accepted = if flow.refused >= 1.0 { 0.0 } else { 1.0 };
    let write = load.writes * accepted * flow.visits.write[node];
    let ingest = write * load.row_bytes() * c.overhead;
    let compacted = ingest * c.compaction_passes;
    Cost {
        cpu: (coordinator * c.coordinator_us + write * c.write_us + read * (c.read_us + miss * c.miss_us))
            / speed
            / 1e6,
        compaction_cpu: compacted * c.compaction_ns_a_byte / speed / 1e9,
        reads: read * miss * c.read_bytes_a_miss,
        compaction_reads: compacted,
        ingest,
        requests: coordinator + write + read,
    }
}

/// Gives each load its rate: what it wants, unless the hottest resource bounds it.
fn set_rates(cluster: &Cluster, loads: &[Load], nodes: &[NodeFlow], costs: &[Vec<Cost>], flows: &mut [LoadFlow]) {
    let wants: Vec<f64> = loads.iter().zip(flows.iter()).map(|(load, flow)| want(cluster, load, flow)).collect();
    let weights: Vec<f64> = loads.iter().map(|load| f64::from(load.spec.concurrency)).collect();
    let demands: Vec<Vec<f64>> = costs.iter().map(|costs| demands(cluster, nodes, costs)).collect();
    for (flow, rate) in flows.iter_mut().zip(share(&wants, &weights, &demands)) {
        flow.rate = rate;
    }
}

/// The rate that a load would reach if nothing bounded it but its own size.
fn want(cluster: &Cluster, load: &Load, flow: &LoadFlow) -> f64 {
    if flow.miss.is_empty() {
        return 0.0;
    }
    let c = &cluster.database.constants;
    let most = f64::from(load.spec.concurrency) / (shortest_ms(c, load) / 1000.0);
    match load.spec.rate {
        Some(rate) if load.lag > 0.0 => (rate * c.catch_up).min(most),
        Some(rate) => rate.min(most),
        None => most,
    }
}

/// Mean response time of an idle cluster with everything in memory, ms.
fn shortest_ms(c: &Constants, load: &Load) -> f64 {
    let (copies, quorum) = (load.spec.replication, load.quorum());
    let harmonic = |from: u32, to: u32| (from..=to).map(|j| 1.0 / f64::from(j)).sum::<f64>();
    let write = (c.scheduling_ms + c.commit_ms) * harmonic(copies - quorum + 1, copies);
    let read = c.scheduling_ms * harmonic(1, quorum);
    c.base_ms + load.writes * write + (1.0 - load.writes) * read
}

/// Part of each resource that one operation a second takes.
fn demands(cluster: &Cluster, nodes: &[NodeFlow], costs: &[Cost]) -> Vec<f64> {
    let passes = cluster.database.constants.compaction_passes.min(2.0);
    let each = cluster.nodes.iter().zip(nodes).zip(costs).flat_map(|((node, flow), cost)| {
        let (hardware, part) = (&node.hardware, flow.part);
        [
            (cost.cpu + part * cost.compaction_cpu) / (part * hardware.cpus()),
            (cost.reads + part * cost.compaction_reads) / (part * hardware.read_bw()),
            cost.ingest * (DIRECT_WRITES + passes) / hardware.write_bw(),
        ]
    });
    each.collect()
}

/// The loads' rates: equal for each operation in flight until a load has what it wants or a resource is used up.
fn share(wants: &[f64], weights: &[f64], demands: &[Vec<f64>]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = wants.iter().map(|&want| (want <= 0.0).then_some(0.0)).collect();
    loop {
        let level = level(&rates, weights, demands);
        let open = |index: &usize| rates[*index].is_none();
        let need = |index: &usize| wants[*index] / weights[*index];
        let least = (0..wants.len()).filter(open).min_by(|a, b| need(a).total_cmp(&need(b)));
        match least {
            Some(index) if need(&index) <= level => rates[index] = Some(wants[index]),
            _ => return rates.iter().zip(weights).map(|(rate, weight)| rate.unwrap_or(level * weight)).collect(),
        }
    }
}

/// The rate for each operation in flight at which the first resource is used up.
fn level(rates: &[Option<f64>], weights: &[f64], demands: &[Vec<f64>]) -> f64 {
    let resources = demands.iter().map(Vec::len).max().unwrap_or(0);
    let bound = |resource: usize| {
        let (mut taken, mut open) = (0.0, 0.0);
        for ((rate, weight), demand) in rates.iter().zip(weights).zip(demands) {
            match rate {
                Some(rate) => taken += rate * demand[resource],
                None => open += weight * demand[resource],
            }
        }
        if open > 0.0 { (1.0 - taken).max(0.0) / open } else { f64::INFINITY }
    };
    (0..resources).map(bound).fold(f64::INFINITY, f64::min)
}

fn add_use(node: &mut NodeFlow, rate: f64, cost: &Cost) {
    node.cpu += rate * cost.cpu;
    node.compaction_cpu += rate * cost.compaction_cpu;
    node.reads += rate * cost.reads;
    node.compaction_reads += rate * cost.compaction_reads;
    node.ingest += rate * cost.ingest;
    node.requests += rate * cost.requests;
}

fn finish_use(flow: &mut NodeFlow, node: &Node) {
    let use_of = |wanted: f64, there: f64| (wanted / (flow.part * there.max(1e-9))).clamp(0.0, MOST_USE);
    flow.cpu_use = use_of(flow.cpu, node.hardware.cpus() - flow.compaction_cpu);
    flow.disk_use = use_of(flow.reads, node.hardware.read_bw() - flow.compaction_reads);
}

impl NodeFlow {
    /// Compaction that ingest makes, and what of it the disk has room for now, bytes a second.
    pub fn compaction(&self, node: &Node, c: &Constants) -> (f64, f64) {
        let room = node.hardware.write_bw() - DIRECT_WRITES * self.ingest - self.stream_in;
        (self.ingest * c.compaction_passes, room.max(0.0))
    }

    /// Part of the disk's reads in use by requests and compaction.
    pub fn read_use(&self, node: &Node) -> f64 {
        (self.reads + self.compaction_reads) / node.hardware.read_bw()
    }

    /// Part of the disk's writes in use by requests and compaction.
    pub fn write_use(&self, node: &Node, c: &Constants) -> f64 {
        self.ingest * (DIRECT_WRITES + c.compaction_passes) / node.hardware.write_bw()
    }

    /// Part of the CPU in use by requests and compaction.
    pub fn all_cpu_use(&self, node: &Node) -> f64 {
        (self.cpu + self.compaction_cpu) / node.hardware.cpus()
    }

    /// Requests that wait for the disk or a CPU.
    pub fn waiting(&self) -> f64 {
        let queue = |used: f64| used * used / (1.0 - used);
        (queue(self.cpu_use) + queue(self.disk_use)).floor()
    }
}

/// The limit of streaming that follows from a rate in MB/s.
pub fn limit(mb_s: Option<f64>) -> f64 {
    mb_s.map_or(f64::INFINITY, |rate| rate * MB)
}
