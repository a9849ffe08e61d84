-- expect: semver
semver.parse(('1.'):rep(100000))
