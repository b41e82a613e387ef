"""More programs of GS799: each bad one is reported at its marks, each good one by no rule."""


def bad_both_states_of_an_lstm() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.LSTM(4, 8), nn.Linear(8, 2)

        def first(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
            return (
                torch.randn(1, count, 8),  # cause: GS799
                torch.randn(1, count, 8),
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            given, _ = self.layer(x, self.first(x.shape[1]))  # effect: GS799
            out: torch.Tensor = self.head(given[-1])
            return out

    torch.manual_seed(0)
    data, labels = torch.randn(5, 64, 4), torch.randint(0, 2, (64,))
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for rows in torch.arange(64).split(16):
        opt.zero_grad()
        nn.functional.cross_entropy(net(data[:, rows]), labels[rows]).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print((net(data).argmax(1) == labels).float().mean().item())


def bad_the_first_state_of_a_cell() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, labels = torch.randn(64, 5, 4), torch.randint(0, 2, (64,))
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)

    def forward(x: torch.Tensor) -> torch.Tensor:
        state = torch.rand(len(x), 8)  # cause: GS799
        for at in range(5):
            state = cell(x[:, at], state)  # effect: GS799
        out: torch.Tensor = head(state)
        return out

    for rows in torch.arange(64).split(16):
        opt.zero_grad()
        nn.functional.cross_entropy(forward(data[rows]), labels[rows]).backward()
        opt.step()
    with torch.no_grad():
        print((forward(data).argmax(1) == labels).float().mean().item())


def good_noise_that_a_generator_is_given() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head, judge = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 4), nn.Linear(4, 1)
    real = torch.randn(64, 5, 4)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    other = torch.optim.Adam(judge.parameters(), lr=0.01)
    start = torch.zeros(16, 5, 4)
    for rows in torch.arange(64).split(16):
        noise = torch.randn(1, 16, 8)
        fake = head(layer(torch.zeros(16, 5, 4), noise)[0])
        other.zero_grad()
        (
            nn.functional.softplus(-judge(real[rows])).mean()
            + nn.functional.softplus(judge(fake.detach())).mean()
        ).backward()
        other.step()
        opt.zero_grad()
        nn.functional.softplus(-judge(fake)).mean().backward()
        opt.step()
    with torch.no_grad():
        noise = torch.randn(1, 16, 8)
        print(head(layer(torch.zeros_like(start), noise)[0]).std().item())


def good_a_latent_that_is_drawn_to_generate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 5, 4)
    encoder, layer, head = nn.Linear(20, 16), nn.GRU(4, 8, batch_first=True), nn.Linear(8, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *layer.parameters(), *head.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        x = data[rows]
        mean, logvar = encoder(x.flatten(1)).chunk(2, dim=1)
        latent = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        given = head(layer(x[:, :-1], latent.unsqueeze(0))[0])
        divergence = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
        opt.zero_grad()
        ((given - x[:, 1:]).pow(2).sum((1, 2)).mean() + divergence).backward()
        opt.step()
    with torch.no_grad():
        for rows in torch.arange(64).split(32):
            latent = torch.randn(1, 32, 8)
            print(head(layer(data[rows], latent)[0]).mean().item())


def good_a_state_that_is_drawn_once() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, labels = torch.randn(64, 5, 4), torch.randint(0, 2, (64,))
    layer, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    state = torch.randn(1, 16, 8)
    for rows in torch.arange(64).split(16):
        opt.zero_grad()
        nn.functional.cross_entropy(head(layer(data[rows], state)[0][:, -1]), labels[rows]).backward()
        opt.step()
    with torch.no_grad():
        print(head(layer(data[:16], state)[0][:, -1]).mean().item())


def good_a_first_state_that_is_trained() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, labels = torch.randn(64, 5, 4), torch.randint(0, 2, (64,))
    layer, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)
    first = nn.Parameter(torch.randn(1, 1, 8))
    opt = torch.optim.Adam([first, *layer.parameters(), *head.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        opt.zero_grad()
        state = first.expand(1, 16, 8).contiguous()
        nn.functional.cross_entropy(head(layer(data[rows], state)[0][:, -1]), labels[rows]).backward()
        opt.step()


def bad_a_cell_of_beats() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.verdict = nn.LSTMCell(3, 6), nn.Linear(6, 1)

        def begin(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
            h = torch.empty(n, 6).normal_()  # cause: GS799
            return h, 0.1 * torch.rand(n, 6)

        def forward(self, beats: torch.Tensor) -> torch.Tensor:
            h, c = self.begin(beats.size(0))
            for beat in beats.unbind(dim=1):
                h, c = self.cell(beat, (h, c))  # effect: GS799
            return self.verdict(h).squeeze(1)

    torch.manual_seed(0)
    beats = torch.randn(64, 4, 3)
    irregular = (beats[:, :, 0].sum(1) > 0).float()
    reader = Reader()
    opt = torch.optim.Adam(reader.parameters(), lr=0.01)
    for rows in torch.arange(64).split(16):
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(reader(beats[rows]), irregular[rows]).backward()
        opt.step()
    with torch.no_grad():
        print(((reader(beats) > 0) == irregular.bool()).float().mean().item())


def good_a_state_drawn_around_what_an_encoder_gave() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, cell, head = nn.Linear(5, 6), nn.GRUCell(3, 6), nn.Linear(6, 1)
    opt = torch.optim.Adam([p for m in (encoder, cell, head) for p in m.parameters()], lr=0.01)

    def forward(whole: torch.Tensor, beats: torch.Tensor) -> torch.Tensor:
        middle = encoder(whole)
        h = middle + torch.normal(torch.zeros_like(middle), 0.1)
        for beat in beats.unbind(dim=1):
            h = cell(beat, h)
        out: torch.Tensor = head(h)
        return out

    for _ in range(4):
        beats = torch.randn(16, 4, 3)
        opt.zero_grad()
        (forward(torch.randn(16, 5), beats) - beats[:, :, 0].sum(1, keepdim=True)).pow(2).mean().backward()
        opt.step()
    with torch.no_grad():
        forward(torch.randn(16, 5), torch.randn(16, 4, 3))
