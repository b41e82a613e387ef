"""More programs of GS443: each bad one is reported at its marks, each good one by no rule."""


def bad_default_axis_of_a_sequence() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    query, key = nn.Linear(6, 8), nn.Linear(6, 8)
    opt = torch.optim.Adam([*query.parameters(), *key.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(4, 10, 6)
        q, k = F.normalize(query(x)), F.normalize(key(x))  # cause: GS443
        scores = torch.bmm(q, k.transpose(1, 2))  # effect: GS443
        loss = F.cross_entropy(scores.flatten(0, 1) / 0.1, torch.arange(10).repeat(4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_divided_by_its_norm() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 8)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        u, v = net(x), net(x + 0.1 * torch.randn(16, 6))
        u = u / u.norm(dim=0, keepdim=True)  # cause: GS443
        v = v / v.norm(dim=1, keepdim=True)
        near = (u * v).sum(1)  # effect: GS443
        far = F.relu((u * v.roll(1, 0)).sum(1))
        loss = (1 - near + far).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_frames_by_letters() -> None:
    import torch
    from torch import nn

    class Frames(nn.Module):
        def __init__(self, incoming: int, size: int) -> None:
            super().__init__()
            self.rnn = nn.GRU(incoming, size, batch_first=True)
            self.project = nn.Linear(size, size)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h, _ = self.rnn(x)
            h = self.project(h)
            unit: torch.Tensor = h / h.norm(dim=1, keepdim=True).clamp_min(1e-6)  # cause: GS443
            return unit

    torch.manual_seed(0)
    one, two = Frames(6, 16), Frames(9, 16)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.005)
    for _ in range(3):
        a, b = one(torch.randn(20, 10, 6)), two(torch.randn(20, 10, 9))
        scores = torch.einsum("btd,bsd->bts", a, b) / 0.1  # effect: GS443
        steps = torch.arange(10).expand(20, -1)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), steps.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_norm_given_by_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, table = nn.Linear(6, 8), nn.Parameter(torch.randn(5, 8))
    opt = torch.optim.Adam([*net.parameters(), table], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        u = nn.functional.normalize(net(x), dim=-1)
        w = nn.functional.normalize(table, 2, 0)  # cause: GS443
        scores = nn.functional.linear(u, w) / 0.1  # effect: GS443
        loss = nn.functional.cross_entropy(scores, x[:, :5].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_length_without_its_axis() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(6, 10), nn.Linear(6, 10)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(4, 10, 6)
        a, b = one(x), two(x)
        a = a / torch.norm(a, dim=1).unsqueeze(1)  # cause: GS443
        b = b / torch.norm(b, dim=2).unsqueeze(2)
        scores = torch.einsum("btd,bsd->bts", a, b)  # effect: GS443
        loss = nn.functional.cross_entropy(scores.flatten(0, 1) / 0.1, torch.arange(10).repeat(4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_correlation_of_features() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 8)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        u, v = F.normalize(net(x), dim=0), F.normalize(net(x + 0.1 * torch.randn(16, 6)), dim=0)
        loss = (u.t() @ v - torch.eye(8)).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_attention_across_channels() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(6, 8)
    opt = torch.optim.Adam([p for m in (query, key, value) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(4, 10, 6)
        q, k, v = (layer(x).transpose(1, 2) for layer in (query, key, value))
        weights = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(1, 2)).softmax(-1)
        loss = ((weights @ v).mean(2) - x.mean((1, 2)).unsqueeze(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_features_first_by_letters() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Conv1d(6, 16, 3, padding=1), nn.Conv1d(9, 16, 3, padding=1)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    for _ in range(3):
        a, b = F.normalize(one(torch.randn(20, 6, 10))), F.normalize(two(torch.randn(20, 9, 10)))
        scores = torch.einsum("bdt,bds->bts", a, b) / 0.1
        steps = torch.arange(10).expand(20, -1)
        u, v = F.normalize(a.mean(2), dim=0), F.normalize(b.mean(2), dim=0)
        cross = (torch.einsum("bd,be->de", u, v) - torch.eye(16)).square().mean()
        loss = F.cross_entropy(scores.flatten(0, 1), steps.flatten()) + cross
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_views_of_one_tensor() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 32)
    opt = torch.optim.SGD(net.parameters(), lr=0.001)
    for _ in range(4):
        x = torch.randn(24, 6)
        views = torch.stack([x + 0.1 * torch.randn(24, 6) for _ in range(2)], dim=1)
        features = F.normalize(net(views), dim=1)  # cause: GS443
        both = torch.cat(torch.unbind(features, dim=1), dim=0)
        logits = both @ both.t() / 0.5  # effect: GS443
        logits = logits.masked_fill(torch.eye(48, dtype=torch.bool), -1e9)
        loss = F.cross_entropy(logits, torch.arange(48).roll(24))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_two_views_by_index() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 16)
    opt = torch.optim.SGD(net.parameters(), lr=0.001)
    for _ in range(4):
        x = torch.randn(24, 6)
        z = net(torch.stack([x, x + 0.1 * torch.randn(24, 6)], dim=1))
        z = z / z.norm(dim=1, keepdim=True)  # cause: GS443
        logits = torch.einsum("id,jd->ij", z[:, 0], z[:, 1]) / 0.5  # effect: GS443
        loss = F.cross_entropy(logits, torch.arange(24))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_two_that_were_joined() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 16)
    opt = torch.optim.SGD(net.parameters(), lr=0.001)
    for _ in range(4):
        x = torch.randn(24, 6)
        noisy = [x + 0.1 * torch.randn(24, 6) for _ in range(2)]
        z = torch.cat([F.normalize(net(one), dim=0) for one in noisy])  # cause: GS443
        logits = (z @ z.t() / 0.5).masked_fill(torch.eye(48, dtype=torch.bool), -1e9)  # effect: GS443
        loss = F.cross_entropy(logits, torch.arange(48).roll(24))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_views_that_overflow() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 128))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(24, 6)
        views = torch.stack([x, x + 0.1 * torch.randn(24, 6)], dim=1)
        features = F.normalize(net(views), dim=1)  # cause: GS443
        both = torch.cat([features[:, 0], features[:, 1]])
        logits = torch.matmul(both, both.T) / 0.07  # effect: GS443
        others = 1 - torch.eye(48)
        total = torch.log((logits.exp() * others).sum(1))
        loss = (total - logits[torch.arange(48), torch.arange(48).roll(24)]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_views_along_their_features() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 128))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(24, 6)
        features = F.normalize(net(torch.stack([x, x + 0.1 * torch.randn(24, 6)], dim=1)), dim=2)
        both = torch.cat(torch.unbind(features, dim=1), dim=0)
        logits = torch.matmul(both, both.T) / 0.07
        others = 1 - torch.eye(48)
        total = torch.log((logits.exp() * others).sum(1))
        loss = (total - logits[torch.arange(48), torch.arange(48).roll(24)]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_redundancy_of_joined_features() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 16)
    opt = torch.optim.SGD(net.parameters(), lr=0.001)
    for _ in range(4):
        x = torch.randn(24, 6)
        z = net(torch.stack([x, x + 0.1 * torch.randn(24, 6)], dim=1))
        z = F.normalize(z - z.mean(0), dim=0)
        cross = torch.einsum("bi,bj->ij", z[:, 0], z[:, 1])
        wide = torch.cat([z[:, 0], z[:, 1]], dim=1)
        own = wide.t() @ wide
        loss = (cross - torch.eye(16)).square().mean() + 0.01 * (own - torch.eye(32)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_reflection_at_a_unit_vector() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(6):
        x, z = torch.randn(8, 6), torch.randn(8, 4)
        v = net(x)
        v = v / v.norm(dim=1, keepdim=True)
        outer = torch.bmm(v.unsqueeze(2), v.unsqueeze(1))
        reflected = z - 2 * torch.bmm(outer, z.unsqueeze(2)).squeeze(2)
        opt.zero_grad()
        (reflected - x[:, :4]).pow(2).mean().backward()
        opt.step()


def good_fast_weights() -> None:
    """A sum of outer products of keys and values, which the queries meet along the axis of unit length."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, parts, head = nn.Embedding(6, 8), nn.Linear(8, 24), nn.Linear(8, 6)
    opt = torch.optim.Adam([*words.parameters(), *parts.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        t = torch.randint(0, 6, (16, 5))
        q, k, v = (nn.functional.normalize(a, dim=-1) for a in parts(words(t)).chunk(3, -1))
        state = k.transpose(1, 2) @ v
        loss = nn.functional.cross_entropy(head(words(t) + q @ state).flatten(0, 1), t.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
