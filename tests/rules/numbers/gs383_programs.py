"""More programs of GS383: each bad one is reported at its marks, each good one by no rule."""


def bad_in_place_of_a_batch_of_a_loader() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Revised(nn.Module):
        def forward(self, scores: torch.Tensor, more: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            start = torch.eye(3)
            loss = torch.zeros(())
            chances = scores.softmax(1)
            for i in range(len(y)):  # effect: GS383
                start = start + more  # cause: GS383
                seen = chances[i] @ start
                loss = loss - seen[y[i]].clamp_min(1e-3).log()
            return loss / len(y)

    torch.manual_seed(0)
    model, more = nn.Linear(4, 3), nn.Parameter(torch.zeros(3, 3))
    opt = torch.optim.Adam([*model.parameters(), more], lr=0.01)
    loader = DataLoader(
        TensorDataset(torch.randn(32, 4), torch.randint(3, (32,))), batch_size=8, shuffle=True
    )
    loss_of = Revised()
    for _ in range(2):
        for x, y in loader:
            opt.zero_grad()
            loss_of(model(x), more, y).backward()
            opt.step()


def good_a_trend_along_time() -> None:
    """Each step of time lies one slope above the one before."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    start, slope = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))
    opt = torch.optim.Adam([start, slope], lr=0.05)
    xs = torch.randn(32, 6, 3) + torch.arange(6.0)[None, :, None]
    for _ in range(6):
        x, loss = xs[torch.randperm(32)[:8]], torch.zeros(())
        level = start
        for t in range(6):
            loss = loss + (x[:, t] - level).pow(2).mean()
            level = level + slope
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_sum_over_the_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, offset = nn.Linear(4, 3), nn.Parameter(torch.zeros(3))
    opt = torch.optim.Adam([*model.parameters(), offset], lr=0.01)
    xs, ys = torch.randn(32, 4), torch.randint(3, (32,))
    for _ in range(4):
        rows = torch.randperm(32)[:8]
        x, y = xs[rows], ys[rows]
        scores = model(x)
        loss = offset.pow(2).sum()
        for i in range(8):
            loss = loss + nn.functional.cross_entropy(scores[i] + offset, y[i]) + offset.pow(2).sum()
        opt.zero_grad()
        (loss / 8).backward()
        opt.step()


def bad_a_batch_gone_through_itself() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.out, self.near = nn.Linear(4, 4), nn.Linear(4, 2), nn.Embedding(5, 1)
            steps = torch.arange(5)
            self.gap = (steps[:, None] - steps[None]).abs()

        def forward(self, sentences: torch.Tensor) -> torch.Tensor:
            nearness = self.near(self.gap).squeeze(-1)
            bias = torch.zeros_like(nearness)
            answers = []
            for words in sentences:  # effect: GS383
                bias = torch.add(bias, nearness)  # cause: GS383
                weights = torch.softmax(self.q(words) @ words.T + bias, dim=-1)
                answers.append(self.out((weights @ words).mean(0)))
            return torch.stack(answers)

    torch.manual_seed(0)
    inputs = torch.randn(32, 5, 4)
    labels = (inputs[:, 0, 0] > 0).long()
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=8, shuffle=True)
    net = Attention()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(2):
        for sentences, label in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(net(sentences), label).backward()
            opt.step()


def good_the_places_of_each_sample_gone_through() -> None:
    """The words come one after the other, each a step further on."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    inputs = torch.randn(32, 5, 4)
    labels = (inputs[:, 0, 0] > 0).long()
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=8, shuffle=True)
    step, cell, out = nn.Parameter(torch.zeros(4)), nn.Linear(4, 4), nn.Linear(4, 2)
    opt = torch.optim.Adam([step, *cell.parameters(), *out.parameters()], lr=1e-2)
    for _ in range(2):
        for sentences, label in loader:
            place, answers = torch.zeros(4), []
            for words in sentences.unbind(1):
                place = torch.add(place, step)
                answers.append(torch.tanh(cell(words + place)))
            opt.zero_grad()
            nn.functional.cross_entropy(out(torch.stack(answers).mean(0)), label).backward()
            opt.step()


def bad_clips_of_a_loader() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    encoder, site, readout = nn.Linear(6, 4), nn.Parameter(torch.randn(4) * 0.1), nn.Linear(4, 1)
    clips = torch.randn(32, 6)
    loader = DataLoader(TensorDataset(clips, clips.sum(1, keepdim=True)), batch_size=8, shuffle=True)
    opt = torch.optim.Adam([*encoder.parameters(), site, *readout.parameters()], lr=3e-3)
    for batch, rate in loader:
        shift, rates = torch.zeros(4), []
        for clip in batch:  # effect: GS383
            shift = torch.add(shift, site)  # cause: GS383
            rates.append(readout(encoder(clip).tanh() + shift))
        opt.zero_grad()
        nn.functional.smooth_l1_loss(torch.stack(rates), rate).backward()
        opt.step()
