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
