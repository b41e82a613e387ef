"""More programs of GS407: each bad one is reported at its marks, each good one by no rule."""


def bad_evaluated_each_epoch() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    model(torch.randn(8, 4))  # statistics that were there before: a pretrained model
    averaged = copy.deepcopy(model)
    averaged.eval()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 4) + 2).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                for slow, fast in zip(averaged.parameters(), model.parameters(), strict=True):
                    slow.lerp_(fast, 0.1)
        with torch.no_grad():
            averaged(torch.randn(8, 4) + 2).pow(2).mean().item()  # cause: GS407


def bad_both_in_one_module() -> None:
    import copy

    import torch
    from torch import nn

    class Momentum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fast = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
            self.slow = copy.deepcopy(self.fast).requires_grad_(False)

    both = Momentum()
    opt = torch.optim.SGD(both.fast.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        both.fast(torch.randn(8, 4) + 2).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for slow, fast in zip(both.slow.parameters(), both.fast.parameters(), strict=True):
                slow.lerp_(fast, 0.1)
    both.slow.eval()
    with torch.no_grad():
        both.slow(torch.randn(8, 4) + 2).pow(2).mean().item()  # cause: GS407


def good_averaged_model() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    averaged = AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4) + 2).pow(2).mean().backward()
        opt.step()
        averaged.update_parameters(model)
    averaged.eval()
    with torch.no_grad():
        averaged(torch.randn(8, 4) + 2).pow(2).mean().item()


def good_teacher_with_loaded_weights() -> None:
    import torch
    from torch import nn

    teacher, student = (nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)) for _ in range(2))
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    saved = {name: value + 0.1 for name, value in teacher.state_dict().items() if "num_batches" not in name}
    saved["1.running_mean"], saved["1.running_var"] = torch.zeros(8), torch.ones(8)
    teacher.load_state_dict(saved, strict=False)
    teacher.eval()
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4) + 2
        with torch.no_grad():
            wanted = teacher(x)
        (student(x) - wanted).pow(2).mean().backward()
        opt.step()


def good_update_bn() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel, update_bn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    averaged = AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4) + 2).pow(2).mean().backward()
        opt.step()
        averaged.update_parameters(model)
    update_bn([torch.randn(8, 4) + 2 for _ in range(3)], averaged)
    averaged.eval()
    with torch.no_grad():
        averaged(torch.randn(8, 4) + 2).pow(2).mean().item()


def good_copy_at_the_end() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4) + 2).pow(2).mean().backward()
        opt.step()
    best = copy.deepcopy(model).eval()
    with torch.no_grad():
        best(torch.randn(8, 4) + 2).pow(2).mean().item()


def bad_average_of_several() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    server = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    for _ in range(3):
        clients = [copy.deepcopy(server) for _ in range(2)]
        for client in clients:
            opt = torch.optim.SGD(client.parameters(), lr=0.05)
            for _ in range(3):
                opt.zero_grad()
                client(torch.randn(8, 4) + 2).pow(2).mean().backward()
                opt.step()
        with torch.no_grad():
            for p, *given in zip(*(model.parameters() for model in (server, *clients)), strict=True):
                p.copy_(torch.stack(given).mean(dim=0))
            server.eval()
            server(torch.randn(8, 4) + 2)  # cause: GS407
            server.train()


def good_the_one_before_loaded_whole() -> None:
    """Each round keeps the network that it began with, whose statistics were those of an untrained one."""
    import io

    import torch
    from torch import nn

    class Player:
        def __init__(self) -> None:
            self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))

        def train(self) -> None:
            opt = torch.optim.Adam(self.net.parameters())
            self.net.train()
            for _ in range(5):
                x = torch.randn(32, 4)
                loss = nn.functional.cross_entropy(self.net(x), (x[:, 0] > 0).long())
                opt.zero_grad()
                loss.backward()
                opt.step()

        def predict(self, x: torch.Tensor) -> torch.Tensor:
            self.net.eval()
            with torch.no_grad():
                return self.net(x)

    new, old = Player(), Player()
    for game in range(2):
        file = io.BytesIO()
        torch.save(new.net.state_dict(), file)
        file.seek(0)
        old.net.load_state_dict(torch.load(file))
        new.train()
        x = torch.randn(1, 4)
        for _ in range(5):
            print(bool((new.predict(x) > old.predict(x)).any()))
        if game == 0:
            file.seek(0)
            new.net.load_state_dict(torch.load(file))


def bad_averages_given_to_a_fresh_network() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    def build() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))

    net = build()
    kept = {name: p.detach().clone() for name, p in net.named_parameters()}
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(16, 4) + 2
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), (x[:, 0] > 2).long()).backward()
        opt.step()
        with torch.no_grad():
            for name, p in net.named_parameters():
                kept[name] = 0.5 * kept[name] + 0.5 * p
    twin = build()
    twin.load_state_dict(kept, strict=False)
    twin.eval()
    with torch.no_grad():
        twin(torch.randn(16, 4) + 2).argmax(1).float().mean().item()  # cause: GS407


def good_averages_given_to_a_copy() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    other = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    kept = {name: p.detach().clone() for name, p in net.named_parameters()}
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(8):
        net.train()
        x = torch.randn(16, 4) + 2
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), (x[:, 0] > 2).long()).backward()
        opt.step()
        with torch.no_grad():
            for name, p in net.named_parameters():
                kept[name] = 0.5 * kept[name] + 0.5 * p
    twin = copy.deepcopy(net)
    twin.load_state_dict(kept, strict=False)
    other.load_state_dict({**net.state_dict(), **kept})
    with torch.no_grad():
        for one in (twin, other):
            one.eval()(torch.randn(16, 4) + 2).argmax(1).float().mean().item()
