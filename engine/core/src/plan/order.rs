//! The graph of steps: who waits for whom, in which order, and whether that can be.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

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
    /// Whether another step needs it.
    needed: Vec<bool>,
    places: HashMap<String, usize>,
}

impl Graph {
    /// Connects the steps; names that do not fit are reported.
    pub fn of(steps: &[Step], mistakes: &mut Vec<Mistake>) -> Self {
        let mut graph = DiGraph::new();
        let nodes: Vec<_> = (0..steps.len()).map(|index| graph.add_node(index)).collect();
        let mut needs = vec![BTreeSet::new(); steps.len()];
        let mut needed = vec![false; steps.len()];
        let mut places = HashMap::new();
        for (index, step) in steps.iter().enumerate() {
            places.entry(step.id.value.clone()).or_insert(index);
        }
        let find = Finder { steps, places: &places };
        for (index, step) in steps.iter().enumerate() {
            for need in &step.needs {
                let Some(other) = find.needed(step, need, mistakes) else { continue };
                needed[other] = true;
                if !needs[index].insert(other) {
                    let message = format!("{} is needed here already", quote(&need.value));
                    mistakes.push(Mistake::new(need.span, message));
                    continue;
                }
                graph.add_edge(nodes[index], nodes[other], need.span);
            }
            if let Some((other, span)) = find.during(step, mistakes) {
                graph.add_edge(nodes[index], nodes[other], span);
            }
        }
        Self { graph, needs, needed, places }
    }

    /// The place of the step with an id.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Whether a step must have succeeded before another one starts.
    pub fn needs(&self, step: usize, other: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![step];
        while let Some(next) = open.pop() {
            if self.needs[next].contains(&other) {
                return true;
            }
            open.extend(self.needs[next].iter().copied().filter(|need| seen.insert(*need)));
        }
        false
    }

    /// Whether another step needs this one.
    pub fn is_needed(&self, step: usize) -> bool {
        self.needed[step]
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

/// Finds the steps that names mean.
struct Finder<'a> {
    steps: &'a [Step],
    places: &'a HashMap<String, usize>,
}

impl Finder<'_> {
    /// The step that a name means; otherwise a mistake.
    fn find(&self, name: &str, span: Span, mistakes: &mut Vec<Mistake>) -> Option<usize> {
        let found = self.places.get(name).copied();
        if found.is_none() {
            let help = suggest::advice(name, self.steps.iter().map(|step| step.id.value.as_str()), "the steps are");
            mistakes.push(Mistake::new(span, format!("there is no step {}", quote(name))).help(help));
        }
        found
    }

    fn needed(&self, step: &Step, need: &At<String>, mistakes: &mut Vec<Mistake>) -> Option<usize> {
        let other = self.find(&need.value, need.span, mistakes)?;
        let (here, there) = (step.finally, self.steps[other].finally);
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

    fn during(&self, step: &Step, mistakes: &mut Vec<Mistake>) -> Option<(usize, Span)> {
        let steps = self.steps;
        let during = step.during.as_ref()?;
        let target = self.find(&during.value.step, during.span, mistakes)?;
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
}
