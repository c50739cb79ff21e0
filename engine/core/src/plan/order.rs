//! The graph of steps: who waits for whom, in which order, and whether that can be.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::Direction;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::diagnostic::{Mistake, Span, quote};
use crate::workflow::{At, Step, suggest};

/// Steps by their place in the file, with an edge from each step to every one that it waits for; the edge keeps where
/// the file says so.
pub struct Graph {
    graph: DiGraph<usize, Span>,
    /// For each step the ones that it needs, not those it is `during`.
    needs: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// Connects the steps; names that do not fit are reported.
    pub fn of(steps: &[Step], mistakes: &mut Vec<Mistake>) -> Self {
        let mut graph = DiGraph::new();
        let nodes: Vec<_> = (0..steps.len()).map(|index| graph.add_node(index)).collect();
        let mut needs = vec![BTreeSet::new(); steps.len()];
        for (index, step) in steps.iter().enumerate() {
            for need in &step.needs {
                let Some(other) = needed(step, need, steps, mistakes) else { continue };
                if !needs[index].insert(other) {
                    let message = format!("{} is needed here already", quote(&need.value));
                    mistakes.push(Mistake::new(need.span, message));
                    continue;
                }
                graph.add_edge(nodes[index], nodes[other], need.span);
            }
            if let Some((other, span)) = during(step, steps, mistakes) {
                graph.add_edge(nodes[index], nodes[other], span);
            }
        }
        Self { graph, needs }
    }

    /// All steps that must have succeeded before a step starts.
    pub fn all_needs(&self, step: usize) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        let mut open: Vec<usize> = self.needs[step].iter().copied().collect();
        while let Some(next) = open.pop() {
            if all.insert(next) {
                open.extend(&self.needs[next]);
            }
        }
        all
    }

    /// Whether another step needs this one.
    pub fn is_needed(&self, step: usize) -> bool {
        self.needs.iter().any(|needs| needs.contains(&step))
    }

    /// An order in which each step stands after those it waits for, otherwise as in the file; every cycle is reported.
    pub fn order(&self, steps: &[Step], mistakes: &mut Vec<Mistake>) -> Vec<usize> {
        let mut waiting: BTreeMap<usize, usize> =
            self.graph.node_indices().map(|node| (node.index(), self.waits(node))).collect();
        let mut free: BTreeSet<(bool, usize)> = BTreeSet::new();
        free.extend(waiting.iter().filter(|entry| *entry.1 == 0).map(|entry| (steps[*entry.0].finally, *entry.0)));
        let mut order = vec![];
        while let Some((_, next)) = free.pop_first() {
            order.push(next);
            for edge in self.graph.neighbors_directed(NodeIndex::new(next), Direction::Incoming) {
                let left = waiting.entry(edge.index()).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    free.insert((steps[edge.index()].finally, edge.index()));
                }
            }
        }
        if order.len() < steps.len() {
            self.report_cycles(steps, mistakes);
        }
        order
    }

    fn waits(&self, node: NodeIndex) -> usize {
        self.graph.neighbors_directed(node, Direction::Outgoing).count()
    }

    fn report_cycles(&self, steps: &[Step], mistakes: &mut Vec<Mistake>) {
        for component in tarjan_scc(&self.graph) {
            let members: BTreeSet<_> = component.into_iter().collect();
            let Some(first) = members.first().copied() else { continue };
            let Some(cycle) = self.shortest_cycle(first, &members) else { continue };
            let names: Vec<_> = cycle.iter().map(|node| steps[node.index()].id.value.as_str()).collect();
            let span = self.graph.find_edge(cycle[0], cycle[1]).map(|edge| self.graph[edge]).unwrap_or_default();
            let message = format!("these steps wait for each other: {}", names.join(" → "));
            mistakes.push(Mistake::new(span, message).help("take one of these dependencies out".to_owned()));
        }
    }

    /// The shortest way from a step back to itself inside a component.
    fn shortest_cycle(&self, first: NodeIndex, members: &BTreeSet<NodeIndex>) -> Option<Vec<NodeIndex>> {
        let mut came: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
        let mut open = VecDeque::from([first]);
        while let Some(node) = open.pop_front() {
            let mut next: Vec<_> = self.graph.neighbors(node).filter(|next| members.contains(next)).collect();
            next.sort();
            for next in next {
                if next == first {
                    return Some(way_back(first, node, &came));
                }
                came.entry(next).or_insert_with(|| {
                    open.push_back(next);
                    node
                });
            }
        }
        None
    }
}

fn way_back(first: NodeIndex, last: NodeIndex, came: &BTreeMap<NodeIndex, NodeIndex>) -> Vec<NodeIndex> {
    let mut way = vec![first];
    let mut node = last;
    while node != first {
        way.push(node);
        node = came.get(&node).copied().unwrap_or(first);
    }
    way.push(first);
    way.reverse();
    way
}

/// The step that a name means; otherwise a mistake.
fn find(name: &str, span: Span, steps: &[Step], mistakes: &mut Vec<Mistake>) -> Option<usize> {
    let found = steps.iter().position(|step| step.id.value == name);
    if found.is_none() {
        let help = suggest::advice(name, steps.iter().map(|step| step.id.value.as_str()), "the steps are");
        mistakes.push(Mistake::new(span, format!("there is no step {}", quote(name))).help(help));
    }
    found
}

fn needed(step: &Step, need: &At<String>, steps: &[Step], mistakes: &mut Vec<Mistake>) -> Option<usize> {
    let other = find(&need.value, need.span, steps, mistakes)?;
    let (here, there) = (step.finally, steps[other].finally);
    if here == there {
        return Some(other);
    }
    let (id, need_id) = (quote(&step.id.value), quote(&need.value));
    let message = match here {
        true => format!("{id} stands under `finally` and cannot need {need_id}, which does not"),
        false => format!("{id} cannot need {need_id}, which stands under `finally`"),
    };
    let help = "a step under `finally` runs however the other steps ended; it can only wait for steps beside it";
    mistakes.push(Mistake::new(need.span, message).help(help.to_owned()));
    None
}

fn during(step: &Step, steps: &[Step], mistakes: &mut Vec<Mistake>) -> Option<(usize, Span)> {
    let during = step.during.as_ref()?;
    let target = find(&during.value.step, during.span, steps, mistakes)?;
    let name = quote(&during.value.step);
    let (message, help) = if steps[target].finally != step.finally {
        (format!("`during` cannot name {name} across the border of `finally`"), None)
    } else if steps[target].background.is_some_and(|background| background.value) {
        let help = "a background step has no end of its own: name the step that acts while it runs".to_owned();
        (format!("`during` cannot name {name}, which runs in the background"), Some(help))
    } else {
        return Some((target, during.span));
    };
    mistakes.push(Mistake::new(during.span, message).help(help));
    None
}
