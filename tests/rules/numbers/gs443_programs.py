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


def bad_divided_by_its_norm() -> None:  # fix: by hand
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
