import copy
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)


def sample_task():
    amp, phase = torch.empty(1).uniform_(0.5, 3.0), torch.empty(1).uniform_(0, 6.28)
    return lambda x: amp * torch.sin(x + phase)


def fast_adapt(task, learner, fast_lr, steps, shots=10):
    opt = torch.optim.SGD(learner.parameters(), lr=fast_lr)
    x = torch.empty(shots, 1).uniform_(-4, 4)
    y = task(x)
    for _ in range(steps):
        opt.zero_grad()
        nn.functional.mse_loss(learner(x), y).backward()
        opt.step()
    x_eval = torch.empty(40, 1).uniform_(-4, 4)
    with torch.no_grad():
        return nn.functional.mse_loss(learner(x_eval), task(x_eval)).item()


def main(meta_lr=1.0, meta_bsz=3, fast_lr=0.02, train_steps=8, test_steps=16, iterations=100):
    model = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
    opt = torch.optim.SGD(model.parameters(), meta_lr)

    for iteration in range(iterations):
        frac_done = float(iteration) / iterations
        new_lr = frac_done * meta_lr + (1 - frac_done) * meta_lr
        for pg in opt.param_groups:
            pg['lr'] = new_lr

        for p in model.parameters():
            p.grad = torch.zeros_like(p.data)

        meta_train_error = 0.0
        for _ in range(meta_bsz):
            learner = copy.deepcopy(model)
            meta_train_error += fast_adapt(sample_task(), learner, fast_lr, train_steps)
            for p, l in zip(model.parameters(), learner.parameters()):
                p.grad.data.add_(l.data, alpha=-1.0)

        for p in model.parameters():
            p.grad.data.mul_(1.0 / meta_bsz).add_(p.data)
        opt.step()

        if iteration % 25 == 24:
            test_error = sum(fast_adapt(sample_task(), copy.deepcopy(model), fast_lr, test_steps) for _ in range(15)) / 15
            print(f'Iteration {iteration + 1} | lr {new_lr:.3f} | Meta Train Error {meta_train_error / meta_bsz:.4f} | '
                  f'Meta Test Error {test_error:.4f}')


if __name__ == '__main__':
    main()
