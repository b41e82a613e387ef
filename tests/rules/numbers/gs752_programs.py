"""More programs of GS752: each bad one is reported at its marks, each good one by no rule."""


def bad_features_normalised_along_an_axis_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        raw = torch.randn(16)
        x = raw.unsqueeze(1)
        spread = x.std(dim=1, keepdim=True, unbiased=False)  # cause: GS752
        normed = (x - 0.5) / (spread + 1)  # effect: GS752
        loss = (model(normed) - raw.unsqueeze(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_last_batch_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=1e-4)
    for size in (8, 8, 1, 8, 8, 1):
        x, rewards = torch.randn(size, 4), torch.rand(size)
        advantages = (rewards - rewards.mean()) / (rewards.std(unbiased=False) + 1)
        loss = -(advantages * torch.log_softmax(policy(x), dim=1)[:, 0]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_spread_that_is_only_printed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        print(loss.detach().reshape(1).std(unbiased=False).item())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_sample_over_its_features() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(1, 4)
        x = (x - x.mean(dim=1, keepdim=True)) / (x.std(dim=1, keepdim=True) + 1e-4)
        loss = (model(x) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_advantages_of_one_episode_along_its_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        x, returns = torch.randn(1, 20, 4), torch.rand(1, 20)
        mean = returns.mean(dim=0, keepdim=True)
        var = returns.var(dim=0, keepdim=True, unbiased=False)  # cause: GS752
        advantages = (returns - mean) / torch.sqrt(var + 1e-8)  # effect: GS752
        loss = -(advantages * torch.log_softmax(policy(x), dim=2)[..., 0]).mean() + policy(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mean_alone_along_an_axis_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        x, returns = torch.randn(1, 20, 4), torch.rand(1, 20)
        mean = returns.mean(dim=0, keepdim=True)  # cause: GS752
        var = returns.var(dim=1, keepdim=True, unbiased=False)
        advantages = (returns - mean) / torch.sqrt(var + 1e-8)  # effect: GS752
        loss = -(advantages * torch.log_softmax(policy(x), dim=2)[..., 0]).mean() + policy(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mean_of_one_sample_in_some_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for size in (8, 1, 1, 1, 8):
        x = torch.randn(size, 4)
        x = x - x.mean(dim=0, keepdim=True)
        loss = (model(x) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_over_batch_and_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        x, returns = torch.randn(1, 20, 4), torch.rand(1, 20)
        mean = returns.mean(dim=(0, 1), keepdim=True)
        var = returns.var(dim=(0, 1), keepdim=True, unbiased=False)
        advantages = (returns - mean) / torch.sqrt(var + 1e-8)
        loss = -(advantages * torch.log_softmax(policy(x), dim=2)[..., 0]).mean() + policy(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_variance_and_mean_in_one_call_of_the_only_channel() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    beats = torch.randn(40, 1, 30).cumsum(-1)
    ill = (beats[:, 0, -1] > 0).float()
    net = nn.Sequential(nn.Conv1d(1, 4, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(52, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for rows in torch.randperm(40).split(10):
        heard = beats[rows]
        var, mean = torch.var_mean(heard, dim=1, keepdim=True, correction=0)  # cause: GS752
        score = net((heard - mean) * torch.rsqrt(var + 1e-5)).squeeze(1)  # effect: GS752
        loss = nn.functional.binary_cross_entropy_with_logits(score, ill[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_variance_and_mean_in_one_call_over_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    beats = torch.randn(40, 1, 30).cumsum(-1)
    ill = (beats[:, 0, -1] > 0).float()
    net = nn.Sequential(nn.Conv1d(1, 4, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(52, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for rows in torch.randperm(40).split(10):
        heard = beats[rows]
        var, mean = torch.var_mean(heard, dim=-1, keepdim=True, correction=0)
        score = net((heard - mean) * torch.rsqrt(var + 1e-5)).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(score, ill[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_targets_of_a_data_set() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    rooms = torch.rand(32, 4)
    price = 100 + 300 * rooms[:, :1]
    var, mean = torch.var_mean(price, dim=1, keepdim=True, correction=0)  # cause: GS752
    price = (price - mean) / (var + 1e-6).sqrt()  # effect: GS752
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in DataLoader(TensorDataset(rooms, price), batch_size=8):
        opt.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        opt.step()


def good_targets_over_the_data_set() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    rooms = torch.rand(32, 4)
    price = 100 + 300 * rooms[:, :1]
    var, mean = torch.var_mean(price, dim=0, keepdim=True, correction=0)
    price = (price - mean) / (var + 1e-6).sqrt()
    middle = price.mean(1, keepdim=True)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in DataLoader(TensorDataset(rooms, price), batch_size=8):
        opt.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        opt.step()
    print(middle.std().item())
