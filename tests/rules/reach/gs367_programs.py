"""More programs of GS367: each bad one is reported at its marks, each good one by no rule."""


def good_number_of_one_and_gradient() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(5):
        logs = policy(torch.randn(16, 4)).log_softmax(1)
        box = logs - logs.detach()
        loss = -(box[:, 0] * torch.randn(16) + box[:, 1]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_first_step_on_each_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(5):
        x, gains = torch.randn(16, 4), torch.randn(16)
        with torch.no_grad():
            old = policy(x).log_softmax(1)[:, 0]
        ratio = (policy(x).log_softmax(1)[:, 0] - old).exp()
        loss = -(ratio * gains).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
