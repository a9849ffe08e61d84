#!/bin/sh
echo "a, b = {c}"
