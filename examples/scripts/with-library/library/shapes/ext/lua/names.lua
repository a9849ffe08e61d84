-- A module of a library reaches its neighbours by their names.
return {
    of = function(release, name)
        return string.sub(`{release.name}-{name}`, 1, 63)
    end,
}
