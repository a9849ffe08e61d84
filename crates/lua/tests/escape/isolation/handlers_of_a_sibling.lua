-- expect: there is no subchart `other`
events.subchart('other')
