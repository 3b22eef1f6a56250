//go:build !kubernetes1.33

package main

// scored is what Score takes for a node.
func scored(node nodeInfo) string { return node.Node().Name }
