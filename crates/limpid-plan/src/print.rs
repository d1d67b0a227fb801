//! Printing of plans.

use super::{Pass, Plan, Role, SlotId};
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = self.memory();
        writeln!(f, "{} on {}", self.title, self.size)?;
        writeln!(f, "slots:")?;
        for (i, slot) in self.slots.iter().enumerate() {
            let role = match &slot.role {
                Role::Input(_) => "input".to_owned(),
                Role::Output(_) => "output".to_owned(),
                Role::History => "history".to_owned(),
                Role::Data(_) => "table".to_owned(),
                Role::Transient => {
                    memory.place[i].map_or("texture".into(), |b| format!("buffer {b}"))
                }
            };
            writeln!(
                f,
                "  {:<24} {:<9} {:>11} x {} {:?} {} {:.1} MiB",
                slot.name,
                role,
                slot.size.to_string(),
                slot.planes,
                slot.element,
                slot.layout,
                slot.bytes() as f64 / f64::from(1 << 20),
            )?;
        }
        writeln!(f, "passes:")?;
        self.print_passes(f)?;
        for [a, b] in &self.swaps {
            writeln!(
                f,
                "swapped after each run: {}, {}",
                self.at(*a).name,
                self.at(*b).name
            )?;
        }
        let reach = self
            .reach()
            .map_or("the whole image".to_owned(), |r| format!("{r} pixels"));
        writeln!(f, "reach: {reach}")?;
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "memory: {:.1} MiB ({:.1} MiB inputs, outputs and history; {:.1} MiB transient in {} buffers)",
            mib(memory.bytes()),
            mib(memory.fixed_bytes),
            mib(memory.transient_bytes()),
            memory.buffers.len()
        )
    }
}

impl Plan {
    fn print_passes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, pass) in self.passes.iter().enumerate() {
            let mut repeats = self.repeats.iter();
            let repeat = repeats.find(|repeat| repeat.passes.contains(&i));
            if let Some(repeat) = repeat.filter(|repeat| repeat.passes.start == i) {
                write!(f, "  repeat at most {} times", repeat.most)?;
                if let Some(u) = &repeat.until {
                    let name = &self.at(u.slot).name;
                    write!(
                        f,
                        ", until {name} <= {:e}, seen every {}",
                        u.at_most, u.every
                    )?;
                }
                writeln!(f, ":")?;
            }
            let indent = if repeat.is_some() { "    " } else { "  " };
            writeln!(f, "{indent}{}. {}", i + 1, self.describe(pass))?;
        }
        Ok(())
    }

    fn describe(&self, pass: &Pass) -> String {
        let names = |ids: &[SlotId]| {
            ids.iter()
                .map(|i| self.at(*i).name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        format!(
            "{:?}: {} -> {}",
            pass.kernel,
            names(&pass.reads),
            names(&pass.writes)
        )
    }
}
