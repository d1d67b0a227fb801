//! The memory that a plan states is the memory that a run takes: measured on the CPU by a counting allocator, on a GPU by the
//! driver's allocator.

use crate::{alone, peak, support};
use limpid::conformance::examples;
use limpid::exec::cpu::Cpu;
use limpid::method::{Entry, METHODS, Method};
use limpid::plan::Role;
use limpid::{Denoiser, Device, FittedPlan, Frame, Options, Size};
use std::sync::Arc;
use support::frame;

/// Large enough for tables and plans to be small relative to pixels.
const SIZE: Size = Size::new(320, 240);

/// The same for methods that would take seconds, and have many planes.
const SLOW: Size = Size::new(144, 96);

/// Tolerance between a run and its plan.
const SHARE: f64 = 0.2;

/// Tables, plans and threads, in bytes.
const SMALL: f64 = (1 << 18) as f64;

fn inputs(fit: &FittedPlan) -> usize {
    let slots = fit.plan.slots().iter();
    let inputs = slots.filter(|s| matches!(s.role, Role::Input(_)));
    inputs.map(|s| s.bytes()).sum()
}

/// Tables that plans share: they exist before the run.
fn shared(fit: &FittedPlan, again: &FittedPlan) -> usize {
    let pairs = fit.plan.slots().iter().zip(again.plan.slots());
    let same = pairs.filter(|pair| match (&pair.0.role, &pair.1.role) {
        (Role::Data(a), Role::Data(b)) => Arc::ptr_eq(a, b),
        _ => false,
    });
    same.map(|(slot, _)| slot.bytes()).sum()
}

/// A method that does not take minutes on a software device, prepared for a frame.
fn options(entry: &Entry, frame: &Frame) -> Options {
    let mut method: Box<dyn Method> = match entry.name {
        "ddid" => examples((entry.make)().as_ref()).swap_remove(0),
        _ => (entry.make)(),
    };
    if entry.name == "patch" {
        // The number of iterations does not change its memory.
        method.set("rounds", "1").unwrap();
        method.set("tolerance", "0.5").unwrap();
    }
    Options::of(method.prepared(frame).unwrap())
}

fn close(name: &str, taken: usize, stated: usize, wrong: &mut Vec<String>) {
    let (taken, stated) = (taken as f64, stated as f64);
    let apart = (taken - stated).abs();
    if apart > SHARE * stated.max(taken) + SMALL {
        let mib = |b: f64| b / f64::from(1 << 20);
        let (taken, stated) = (mib(taken), mib(stated));
        wrong.push(format!("{name}: {taken:.1} MiB taken, {stated:.1} stated"));
    }
}

#[test]
fn runs_take_the_memory_that_plans_state() {
    let _alone = alone();
    let small = frame(SLOW);
    let frame = frame(SIZE);
    let threads = 2;
    let cpu = Device::Cpu(Cpu::new(Some(threads)).unwrap());
    let mut wrong = Vec::new();
    for entry in METHODS {
        let slow = ["nfor", "ensemble", "rdfc", "patch", "ddid"].contains(&entry.name);
        let frame = if slow { &small } else { &frame };
        let options = options(entry, frame);
        // Creates tables that are kept afterwards. Those of slow methods are small beside their planes.
        if !slow {
            let mut denoiser = Denoiser::new(&cpu, &frame.shape(), &options).unwrap();
            denoiser.run(frame).unwrap();
        }
        let fitted = || FittedPlan::new(cpu.limits(), &frame.shape(), &options).unwrap();
        let (fit, again) = (fitted(), fitted());
        let (_, taken) = peak(|| {
            let mut denoiser = Denoiser::new(&cpu, &frame.shape(), &options).unwrap();
            let out = denoiser.run(frame).unwrap();
            (denoiser, out)
        });
        // The frame is allocated before.
        let stated = fit.bytes(threads) - inputs(&fit) - shared(&fit, &again);
        close(
            &format!("{} on the CPU", entry.name),
            taken,
            stated,
            &mut wrong,
        );
    }
    #[cfg(feature = "gpu")]
    on_gpus(&frame, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[cfg(feature = "gpu")]
fn on_gpus(frame: &Frame, wrong: &mut Vec<String>) {
    for device in Device::own_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let taken = || {
            let report = gpu.device().generate_allocator_report();
            report.map_or(0, |r| r.total_allocated_bytes as usize)
        };
        for entry in METHODS {
            let options = options(entry, frame);
            let Ok(fit) = FittedPlan::new(device.limits(), &frame.shape(), &options) else {
                continue;
            };
            let before = taken();
            let denoiser = match Denoiser::new(&device, &frame.shape(), &options) {
                Ok(denoiser) => denoiser,
                Err(error) => {
                    wrong.push(format!("{} on {}: {error}", entry.name, device.name()));
                    continue;
                }
            };
            let now = taken();
            let outputs: usize = (fit.plan.slots().iter())
                .filter(|s| matches!(s.role, Role::Output(_)))
                .map(|s| s.bytes())
                .sum();
            let stated = fit.plan.memory().bytes() + outputs;
            if now > 0 {
                let name = format!("{} on {}", entry.name, device.name());
                close(&name, now - before, stated, wrong);
            }
            drop(denoiser);
        }
    }
}
