package main

func scalers(int) []entry { return nil }
