package machine

import (
	"os"
	"runtime"
)

// Seen reads the Facts of this process. runtime.NumCPU already respects the
// affinity mask.
func Seen() Facts { return Read(os.DirFS("/"), runtime.NumCPU()) }
