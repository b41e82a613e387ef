"""More programs of GS391: each bad one is reported at its marks, each good one by no rule."""


def bad_of_one_layer_called_for_an_answer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    model = nn.Linear(1, 3)  # cause: GS391
    criterion = nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        loss = criterion(model(x), 2 * x)  # effect: GS391
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(model(torch.tensor([[10.0]])))


def bad_values_of_all_actions() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))  # cause: GS391
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(6):
        with torch.no_grad():
            action = net(torch.randn(1, 4)).argmax(dim=1)
        states, goals = torch.randn(16, 4), torch.rand(16) + action
        loss = nn.functional.smooth_l1_loss(net(states), goals.unsqueeze(1))  # effect: GS391
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_all_steps_of_one_sample() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)

    class Next(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(1, 6, batch_first=True)
            self.head = nn.Linear(6, 2)  # cause: GS391

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            numbers: torch.Tensor = self.head(self.rnn(x)[0]).flatten(1)
            return numbers

    numbers = torch.arange(16.0) / 16
    windows = torch.stack([numbers[i : i + 4] for i in range(12)]).unsqueeze(-1)
    model = Next()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for x, y in DataLoader(TensorDataset(windows, numbers[4:]), batch_size=1, shuffle=True):
        loss = nn.functional.mse_loss(model(x), y)  # effect: GS391
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_sample_by_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))  # cause: GS391
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    inputs, targets = torch.randn(6, 3), torch.randn(6)
    for i in range(6):
        loss = nn.functional.l1_loss(model(inputs[i : i + 1]), targets[i])  # effect: GS391
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_number_of_the_last_step() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    rnn, head = nn.GRU(1, 6, batch_first=True), nn.Linear(6, 1)
    numbers = torch.arange(16.0) / 16
    windows = torch.stack([numbers[i : i + 4] for i in range(12)]).unsqueeze(-1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.05)
    for x, y in DataLoader(TensorDataset(windows, numbers[4:]), batch_size=1, shuffle=True):
        loss = nn.functional.mse_loss(head(rnn(x)[0][:, -1]).flatten(), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_all_patches_of_one_picture() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    judge = nn.Conv2d(1, 1, 3)
    opt = torch.optim.SGD(judge.parameters(), lr=0.05)
    real, fake = torch.ones(1), torch.zeros(1)
    for _ in range(6):
        loss = nn.functional.mse_loss(judge(torch.randn(1, 1, 6, 6)), real)
        loss = loss + nn.functional.mse_loss(judge(torch.rand(1, 1, 6, 6)), fake)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_ensemble_whose_mean_is_the_answer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 5))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(6):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(model(torch.randn(3, 4)).mean(dim=1))


def good_twin_critics_of_one_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, actor = nn.Linear(5, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.05)
    improve = torch.optim.SGD(actor.parameters(), lr=0.05)
    for _ in range(6):
        state = torch.randn(16, 4)
        loss = nn.functional.mse_loss(critic(torch.cat([state, torch.rand(16, 1)], 1)), torch.rand(16, 1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        better = -critic(torch.cat([state, actor(state)], 1)).min(dim=1).values.mean()
        improve.zero_grad()
        better.backward()
        improve.step()


def good_all_patches_are_of_one_kind() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    judge = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 4))
    opt = torch.optim.SGD(judge.parameters(), lr=0.05)
    for _ in range(6):
        real, fake = judge(torch.randn(16, 8)), judge(torch.rand(16, 8))
        loss = nn.functional.mse_loss(real, torch.ones(16, 1)) + nn.functional.mse_loss(
            fake, torch.zeros(16, 1)
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_last_state_without_a_head() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.GRU(2, 8, batch_first=True)
    opt = torch.optim.RMSprop(rnn.parameters(), lr=5e-3)
    for _ in range(4):
        window = torch.randn(16, 6, 2)
        target = window[:, -1, :1].tanh() * 0.5
        out, _ = rnn(window)  # cause: GS391
        opt.zero_grad()
        nn.functional.huber_loss(out[:, -1], target).backward()  # effect: GS391
        opt.step()


def good_last_state_with_a_head_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(2, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.RMSprop([*rnn.parameters(), *head.parameters()], lr=5e-3)
    for _ in range(4):
        window = torch.randn(16, 6, 2)
        target = window[:, -1, :1].tanh() * 0.5
        out, _ = rnn(window)
        opt.zero_grad()
        nn.functional.huber_loss(head(out[:, -1]), target).backward()
        opt.step()
