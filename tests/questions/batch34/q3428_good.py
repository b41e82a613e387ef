import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.default_rng(0)


def to_device(array, dtype=torch.float64):
    return torch.tensor(array, dtype=dtype, requires_grad=True)


def simulate(weights, returns):
    shares = torch.softmax(weights, 0)
    path = (returns @ shares + 1).cumprod(0)
    growth = path[-1].log()
    risk = (returns @ shares).std()
    return growth - 4 * risk


def optimise(returns, steps=80, rate=0.5):
    weights = to_device(np.zeros(returns.shape[1]))
    for step in range(steps):
        utility = simulate(weights, returns)
        (-utility).backward()
        if weights.grad is None:
            print("step", step, "utility", round(utility.item(), 4), "grad", weights.grad)
            break
        with torch.no_grad():
            weights -= rate * weights.grad
            weights.grad.zero_()
        if step % 20 == 19:
            print("step", step, "utility", round(utility.item(), 4))
    return torch.softmax(weights, 0).detach()


def main():
    drift = np.array([0.001, 0.004, 0.002, -0.001])
    returns = rng.normal(drift, [0.004, 0.012, 0.006, 0.01], (250, 4))
    shares = optimise(torch.from_numpy(returns))
    print("shares", [round(s, 3) for s in shares.tolist()])


main()
