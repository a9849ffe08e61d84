-- expect: nil
error(nil)
