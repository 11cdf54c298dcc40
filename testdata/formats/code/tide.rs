// Copyright 2026 The Harbour Authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License with the programs it came with.
//
// Unless agreed to in writing, the program is given as it is, without
// warranties of any kind, and nobody who wrote a part of it is liable for
// anything that follows from its use on land, at sea or in the air.

//! Reads the gauges of a pier and says how high the water will be.

use std::collections::HashMap;

/// A gauge with what was read from it.
#[derive(Debug, Clone)]
pub struct Gauge<'a> {
    pub name: &'a str,
    readings: Vec<f64>,
}

impl<'a> Gauge<'a> {
    /// Makes a gauge without readings.
    pub fn new(name: &'a str) -> Self {
        Gauge { name, readings: Vec::new() }
    }

    /// The mean of the last readings, `None` when there are none.
    pub fn mean(&self, last: usize) -> Option<f64> {
        let from = self.readings.len().saturating_sub(last);
        let taken = &self.readings[from..];
        if taken.is_empty() {
            return None;
        }
        Some(taken.iter().sum::<f64>() / taken.len() as f64)
    }
}

/// Parses a line such as `pier=1.45` and puts it where it belongs.
pub fn parse_line<'a>(line: &'a str, gauges: &mut HashMap<&'a str, Gauge<'a>>) -> Result<(), String> {
    let (name, value) = line.split_once('=').ok_or_else(|| format!("no '=' in {line:?}"))?;
    let value: f64 = value.trim().parse().map_err(|e| format!("{value:?}: {e}"))?;
    gauges.entry(name).or_insert_with(|| Gauge::new(name)).readings.push(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_a_value_is_refused() {
        assert!(parse_line("pier", &mut HashMap::new()).is_err());
    }
}
