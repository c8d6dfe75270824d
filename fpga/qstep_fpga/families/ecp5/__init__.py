"""Lattice ECP5: its tools, rewrites of its netlists, and copies of a placed lane."""
