"""More programs of GS248: each bad one is reported at its marks, each good one by no rule."""


def good_clients_made_anew_are_averaged() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, held = nn.Linear(8, 2), torch.randn(50, 8)
    for _ in range(5):
        states = []
        for _ in range(3):
            client = nn.Linear(8, 2)
            client.load_state_dict(model.state_dict())
            opt = torch.optim.SGD(client.parameters(), lr=0.1)
            for _ in range(4):
                x = torch.randn(16, 8)
                opt.zero_grad()
                (client(x) - x[:, :2]).pow(2).mean().backward()
                opt.step()
            states.append({name: value.numpy().copy() for name, value in client.state_dict().items()})
        mean = {name: torch.from_numpy(sum(s[name] for s in states) / 3) for name in states[0]}
        model.load_state_dict(mean)
        with torch.no_grad():
            print((model(held) - held[:, :2]).pow(2).mean().item())


def good_long_trainings_are_handed_back() -> None:
    import torch
    from torch import nn

    def train(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        worker = nn.Linear(8, 2)
        worker.load_state_dict(state)
        opt = torch.optim.SGD(worker.parameters(), lr=0.01)
        for _ in range(120):
            x = torch.randn(16, 8)
            opt.zero_grad()
            (worker(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()
        return worker.state_dict()

    torch.manual_seed(0)
    model, held = nn.Linear(8, 2), torch.randn(50, 8)
    for _ in range(4):
        model.load_state_dict(train(model.state_dict()))
        with torch.no_grad():
            print((model(held) - held[:, :2]).pow(2).mean().item())


def good_students_of_a_reloaded_teacher() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher = nn.Linear(8, 2)
    kept = {name: value.clone() for name, value in teacher.state_dict().items()}
    for _ in range(4):
        teacher.load_state_dict(kept)
        student = nn.Linear(8, 2)
        opt = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(6):
            x = torch.randn(16, 8)
            with torch.no_grad():
                wanted = teacher(x)
            loss = (student(x) - wanted).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item(), student.weight.norm().item())


def good_each_is_evaluated_beside_a_reference() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    reference, held = nn.Linear(8, 2), torch.randn(50, 8)
    kept = {name: value.clone() for name, value in reference.state_dict().items()}
    for _ in range(4):
        reference.load_state_dict(kept)
        model = nn.Linear(8, 2)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(6):
            x = torch.randn(16, 8)
            opt.zero_grad()
            (model(x) - x[:, :2]).pow(2).mean().backward()
            opt.step()
        with torch.no_grad():
            print((model(held) - reference(held)).pow(2).mean().item())


def bad_argument_that_is_made_anew() -> None:
    import torch
    from torch import nn

    def local_update(net: nn.Linear, rows: torch.Tensor) -> None:
        net = nn.Linear(6, 2)  # cause: GS248
        sgd = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.5)
        for _ in range(4):
            sgd.zero_grad()
            (net(rows) - rows[:, :2]).pow(2).mean().backward()
            sgd.step()

    def mean_of(nets: list[nn.Linear]) -> dict[str, torch.Tensor]:
        states = [net.state_dict() for net in nets]
        return {key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]}

    torch.manual_seed(0)
    parts, held = torch.randn(3, 20, 6), torch.randn(50, 6)
    server = nn.Linear(6, 2)
    for _ in range(6):
        nets = [nn.Linear(6, 2) for _ in parts]
        for net, rows in zip(nets, parts, strict=True):
            net.load_state_dict(server.state_dict())
            local_update(net, rows)
        server.load_state_dict(mean_of(nets))
        with torch.no_grad():
            print((server(held) - held[:, :2]).pow(2).mean().item())  # effect: GS248


def bad_the_copied_one_is_given_back() -> None:
    import copy

    import torch
    from torch import nn

    def site(server: nn.Module, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
        local = copy.deepcopy(server)  # cause: GS248
        opt = torch.optim.SGD(local.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(local(x).squeeze(1), y).backward()
            opt.step()
        return {k: v.clone() for k, v in server.state_dict().items()}

    torch.manual_seed(10)
    server = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 1))
    sites = [(x, (x[:, 0] > 0).float()) for x in torch.randn(3, 40, 9)]
    held = torch.randn(50, 9)
    for _ in range(5):
        states = [site(server, x, y) for x, y in sites]
        server.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
        with torch.no_grad():
            print(((server(held).squeeze(1) > 0) == (held[:, 0] > 0)).float().mean().item())  # effect: GS248
