// Package memory keeps what an agent learnt over conversations: facts,
// preferences, insights and procedures, found again by meaning. What an agent
// learnt with one person is recalled for that person alone.
package memory
