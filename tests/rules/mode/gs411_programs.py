"""More programs of GS411: each bad one is reported at its marks, each good one by no rule."""


def bad_in_the_constructor() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, state=None):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
            if state is not None:
                self.body.load_state_dict(state)  # effect: GS411
            self.head = nn.Linear(8, 1)
            self.reset()

        def reset(self):
            for m in self.modules():
                if isinstance(m, nn.Linear):
                    nn.init.kaiming_normal_(m.weight)  # cause: GS411
                    nn.init.zeros_(m.bias)

        def forward(self, x):
            return self.head(self.body(x).relu())

    saved = Net().body.state_dict()
    net = Net(saved)
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_by_apply_after_training() -> None:
    import torch
    from torch import nn

    def weights(m):
        if isinstance(m, nn.Conv1d):
            m.weight.data.normal_(0.0, 0.02)  # cause: GS411
            m.bias.data.fill_(0)

    def train(net):
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(12):
            opt.zero_grad()
            net(torch.randn(8, 2, 5)).pow(2).mean().backward()
            opt.step()

    first = nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.Conv1d(3, 1, 3))
    train(first)
    second = nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.Conv1d(3, 1, 3))
    second.load_state_dict(first.state_dict())  # effect: GS411
    second.apply(weights)
    train(second)


def bad_reset_parameters() -> None:  # fix: by hand
    import torch
    from torch import nn

    def pretrained(state):
        net = nn.Linear(4, 4)
        net.load_state_dict(state)  # effect: GS411
        return net

    model = nn.Sequential(pretrained(nn.Linear(4, 4).state_dict()), nn.Tanh(), nn.Linear(4, 1))
    for layer in model:
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()  # cause: GS411
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_new_last_layer() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model.load_state_dict(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).state_dict())
    nn.init.normal_(model[2].weight, std=0.01)
    nn.init.zeros_(model[2].bias)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_another_state_over_it() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    model.load_state_dict(nn.Linear(4, 1).state_dict())
    model.load_state_dict(nn.Linear(4, 1).state_dict())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_copied_before() -> None:
    import copy

    import torch
    from torch import nn

    student = nn.Linear(4, 1)
    student.load_state_dict(nn.Linear(4, 1).state_dict())
    teacher = copy.deepcopy(student)
    teacher.requires_grad_(False)
    student.reset_parameters()
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (student(x) - teacher(x)).pow(2).mean().backward()
        opt.step()


def good_evaluated_before() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    model.load_state_dict(nn.Linear(4, 1).state_dict())
    with torch.no_grad():
        before = model(torch.randn(8, 4)).pow(2).mean().item()
    model.reset_parameters()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).add(before).pow(2).mean().backward()
        opt.step()


def good_part_of_the_rows_anew() -> None:
    import torch
    from torch import nn

    model = nn.Embedding(6, 4)
    model.load_state_dict(nn.Embedding(6, 4).state_dict())
    with torch.no_grad():
        model.weight[4:].normal_()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.arange(6)).pow(2).mean().backward()
        opt.step()


def bad_all_but_the_normalisation() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.norm, self.out = nn.Embedding(9, 4), nn.LayerNorm(4), nn.Linear(4, 9)
            self.start()

        def start(self):
            nn.init.normal_(self.table.weight)  # cause: GS411
            nn.init.xavier_uniform_(self.out.weight)
            nn.init.zeros_(self.out.bias)

        def forward(self, x):
            return self.out(self.norm(self.table(x)))

    net = Net()
    net.load_state_dict(Net().state_dict())  # effect: GS411
    net.start()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randint(0, 9, (8,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), x).backward()
        opt.step()


def good_a_head_of_several_parts() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.norm = nn.Embedding(9, 4), nn.LayerNorm(4)
            self.head = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
            self.begin()

        def begin(self):
            for part in self.head:
                if isinstance(part, nn.Linear):
                    nn.init.xavier_uniform_(part.weight)
                    nn.init.zeros_(part.bias)

        def forward(self, x):
            return self.head(self.norm(self.table(x)))

    net = Net()
    net.load_state_dict(Net().state_dict())
    net.begin()  # another task
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randint(0, 9, (8,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), x % 3).backward()
        opt.step()
