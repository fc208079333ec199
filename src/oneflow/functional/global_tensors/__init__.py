"""Global tensors: conversion between placements and SBP."""
