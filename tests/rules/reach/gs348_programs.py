"""More programs of GS348: each bad one is reported at its marks, each good one by no rule."""


def bad_masked_ids_of_a_module() -> None:
    import torch
    from torch import nn

    class Filler(nn.Module):
        def __init__(self, reader: nn.Module) -> None:
            super().__init__()
            self.reader = reader

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            hidden = torch.rand(words.shape) < 0.4
            shown = torch.where(hidden, torch.tensor(9), words)  # effect: GS348
            wanted = torch.where(hidden, words, torch.tensor(-1))
            scores = self.reader(words)  # cause: GS348
            return nn.functional.cross_entropy(scores.transpose(1, 2), wanted, ignore_index=-1)

    torch.manual_seed(0)
    filler = Filler(nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 10)))
    opt = torch.optim.Adam(filler.parameters(), lr=0.01)
    for _ in range(8):
        opt.zero_grad()
        filler(torch.randint(9, (4, 12))).backward()
        opt.step()


def good_kept_for_a_picture() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    coder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.Adam(coder.parameters(), lr=0.01)
    shown = []

    def learn(rows: torch.Tensor) -> None:
        scaled = rows * 2
        loss = (coder(rows) - rows).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        shown.append(scaled.mean().item())

    for _ in range(8):
        learn(torch.randn(16, 6))


def good_softmax_that_nothing_reads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    judge = nn.Linear(6, 3)
    measure = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(judge.parameters(), lr=0.01)

    def count(rows: torch.Tensor, kinds: torch.Tensor) -> float:
        with torch.no_grad():
            scores = judge(rows)
            shares = torch.softmax(scores, 1)
            smoothed = scores * torch.full((3,), 0.9)
            return float(measure(scores, kinds))

    for _ in range(8):
        rows, kinds = torch.randn(16, 6), torch.randint(3, (16,))
        opt.zero_grad()
        measure(judge(rows), kinds).backward()
        opt.step()
        count(rows, kinds)


def bad_label_of_zeros() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    names, net = nn.Linear(4, 3), nn.Linear(6, 3)
    opt = torch.optim.Adam([*names.parameters(), *net.parameters()], lr=0.01)

    class Guesser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.names, self.net = names, net

        def forward(self, x: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.net(torch.cat([x, self.names(kind)], 1))
            return out

    guesser = Guesser()

    @torch.no_grad()
    def guided(x: torch.Tensor, kind: torch.Tensor, scale: float) -> torch.Tensor:
        nothing = torch.zeros_like(kind)  # effect: GS348
        told = guesser(x, kind)
        untold = guesser(x, kind)  # cause: GS348
        out: torch.Tensor = (1 + scale) * told - scale * untold
        return out

    kinds = torch.eye(4)
    for _ in range(8):
        x = torch.randn(4, 3)
        shown = kinds * (torch.rand(4, 1) > 0.2)
        opt.zero_grad()
        (guesser(x, shown) - x).pow(2).mean().backward()
        opt.step()
    x = torch.randn(4, 3)
    for _ in range(4):
        x = x - 0.1 * guided(x, kinds, 2.0)


def good_asked_twice_in_training() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def loss_of(x: torch.Tensor) -> torch.Tensor:
        start = torch.zeros_like(x)
        one = net(x + start)
        other = net(x)
        again = net(x)
        out: torch.Tensor = (one - other).pow(2).mean() + (other - again).pow(2).mean() + again.pow(2).mean()
        return out

    for _ in range(8):
        opt.zero_grad()
        loss_of(torch.randn(4, 6)).backward()
        opt.step()


def bad_masked_copy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(5)
    reader = nn.Sequential(nn.Embedding(21, 16), nn.Conv1d(8, 8, 3, padding=1), nn.ReLU(), nn.Linear(16, 20))
    opt = torch.optim.Adam(reader.parameters(), lr=3e-3)

    def step(residues: torch.Tensor) -> None:
        hide = torch.rand(residues.shape) < 0.3
        corrupted = residues.clone()  # effect: GS348
        corrupted[hide] = 20
        logits = reader(residues)  # cause: GS348
        loss = nn.functional.cross_entropy(logits[hide], residues[hide])
        opt.zero_grad()
        loss.backward()
        opt.step()

    for _ in range(8):
        step((torch.randint(0, 20, (32, 1)) + torch.arange(8)) % 20)


def good_masked_copy_and_the_whole() -> None:
    import torch
    from torch import nn

    torch.manual_seed(5)
    reader = nn.Sequential(nn.Embedding(21, 16), nn.Conv1d(8, 8, 3, padding=1), nn.ReLU(), nn.Linear(16, 20))
    opt = torch.optim.Adam(reader.parameters(), lr=3e-3)

    def step(residues: torch.Tensor) -> None:
        hide = torch.rand(residues.shape) < 0.3
        corrupted = residues.clone()
        corrupted[hide] = 20
        with torch.no_grad():
            taught = reader(residues).softmax(-1)
        logits = reader(corrupted)
        loss = nn.functional.cross_entropy(logits[hide], taught[hide])
        opt.zero_grad()
        loss.backward()
        opt.step()

    for _ in range(8):
        step((torch.randint(0, 20, (32, 1)) + torch.arange(8)) % 20)


def good_copy_that_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(5)
    net = nn.Linear(6, 6)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    shown: list[torch.Tensor] = []

    def step(clean: torch.Tensor) -> None:
        blurred = clean.clone()
        blurred[:, :2] = 0
        shown.append(blurred)
        loss = (net(clean) - clean.roll(1, 1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

    for _ in range(8):
        step(torch.randn(16, 6))
